// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/** shopsync.env: variables for when a program is started without an environment. */
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isOpenToAll } from '../../src/engine/config/envfile.js'
import { shopsync } from '../support/harness/call.js'
import { type Place, place } from '../support/harness/place.js'

let here: Place
beforeAll(async () => {
  here = await place()
})
afterAll(() => here.remove())

const bare = (...words: string[]) => shopsync(words, { cwd: here.folder })
const write = (name: string, secret: string, mode = 0o600): void => {
  const file = join(here.folder, name)
  writeFileSync(file, `# for cron\nAPI_SECRET="${secret}"\n`)
  chmodSync(file, mode)
}

test('without it, the missing variable is named', async () => {
  const { code, stderr } = await bare('sync')
  expect(code).toBe(2)
  expect(stderr).toContain('API_SECRET is not set')
})

test('next to the configuration it is read by every command, and the environment takes precedence', async () => {
  write('shopsync.env', here.sandbox.secret)
  expect(await bare('sync', '--resource', 'notes')).toMatchObject({ code: 0 })
  expect(await bare('check', '--quiet')).toMatchObject({ code: 0 })
  const other = await shopsync(['sync'], { cwd: here.folder, env: { API_SECRET: 'wrong' } })
  expect(other.code).toBe(3)
  // It is next to the configuration, not in the working directory.
  const config = join(here.folder, 'config.json')
  here.configure({ warehouse: { url: `sqlite:${join(here.folder, 'data/warehouse.db')}` } })
  expect(await shopsync(['status', '--config', config, '--json'])).toMatchObject({ stderr: '' })
  here.configure()
})

test('one that everybody can read causes a warning', async () => {
  write('shopsync.env', here.sandbox.secret, 0o644)
  const { code, stderr } = await bare('sync', '--resource', 'notes')
  expect(code).toBe(0)
  expect(stderr).toContain('Everyone on this machine can read API_SECRET in shopsync.env: type chmod 600')
})

test.each([
  ['a quote that is not closed', "# x\nA=1\nAPI_SECRET='geheim", "line 3: found a quote '"],
  [
    'a quote that another line closes',
    "API_SECRET='geheim\nB='1'",
    'line 1: found text after the closing quote',
  ],
  ['no =', 'A="1\n2"\nAPI_SECRET geheim', 'line 3: found no = in it'],
  ['a bare secret', 'geheim', 'line 1: found no = in it'],
  ['no name', '\r\n=geheim', 'line 2: found no name before the ='],
  ['a name of two words', 'API SECRET=geheim', 'line 1: found a name with spaces'],
])('%s is an error with its line, and shows no secret', async (_what, text, said) => {
  writeFileSync(join(here.folder, 'shopsync.env'), `${text}\n`)
  const { code, stdout, stderr } = await bare('status')
  expect(stderr).toContain(said)
  expect(stdout + stderr).not.toContain('geheim')
  expect(code).toBe(2)
})

test('everything else in a file of variables is read as Node reads it', async () => {
  const text = `\uFEFF# all\r\n\r\n  export A = b c # d\nB="x\n'y" # e\n\tC=it's\nD=\nAPI_SECRET=\`${here.sandbox.secret}\`\n#`
  writeFileSync(join(here.folder, 'shopsync.env'), text, { mode: 0o600 })
  expect(await bare('check', '--quiet')).toMatchObject({ code: 0 })
})

test('any other file with a secret that everybody can read causes a warning, also in check; one without a secret does not', async () => {
  write('shopsync.env', here.sandbox.secret)
  const secret = join(here.folder, 'secret.txt')
  const config = join(here.folder, 'config.json')
  const warned = async (mode: number): Promise<string[]> => {
    chmodSync(secret, mode)
    chmodSync(config, mode)
    const { stderr } = await bare('check')
    return [...stderr.matchAll(/can read (\S+) in (\S+): type chmod 600 \S+"/g)].map(
      ([, key, file]) => `${key} ${file}`,
    )
  }
  writeFileSync(secret, here.sandbox.secret)
  expect(await warned(0o644)).toEqual([])
  here.configure({ api: { secret: { file: 'secret.txt' } } })
  expect(await warned(0o644)).toEqual(['api.secret secret.txt'])
  expect(await warned(0o640)).toEqual([])
  here.configure({ api: { secret: here.sandbox.secret } })
  expect(await warned(0o644)).toEqual(['api.secret config.json'])
  here.configure({ alerts: { heartbeat: 'http://127.0.0.1:1/hidden' } })
  expect(await warned(0o644)).toEqual(['alerts.heartbeat config.json'])
  here.configure()
  expect(await warned(0o644)).toEqual([])
})

test('a file that was moved or closed since it was read is open to nobody', () => {
  const [loop, config] = ['loop', 'config.json'].map((name) => join(here.folder, name)) as [string, string]
  symlinkSync(loop, loop)
  for (const file of [loop, join(config, 'below'), join(here.folder, 'none')])
    expect(isOpenToAll(file)).toBe(false)
})

test('--env-file names another one, which must exist', async () => {
  write('other.env', here.sandbox.secret)
  write('shopsync.env', 'wrong')
  expect(await bare('sync', '--resource', 'notes', '--env-file', 'other.env')).toMatchObject({ code: 0 })
  const { code, stderr } = await bare('sync', '--env-file', 'none.env')
  expect(code).toBe(2)
  expect(stderr).toContain('none.env')
})
