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

test('it is read next to the configuration, not in the working directory', async () => {
  write('shopsync.env', here.sandbox.secret)
  const config = join(here.folder, 'config.json')
  here.configure({ warehouse: { url: `sqlite:${join(here.folder, 'data/warehouse.db')}` } })
  expect(await shopsync(['status', '--config', config, '--json'])).toMatchObject({ stderr: '' })
  here.configure()
})

test('everything else in a file of variables is read as Node reads it', async () => {
  const text = `\uFEFF# all\r\n\r\n  export A = b c # d\nB="x\n'y" # e\n\tC=it's\nD=\nAPI_SECRET=\`${here.sandbox.secret}\`\n#`
  writeFileSync(join(here.folder, 'shopsync.env'), text, { mode: 0o600 })
  expect(await bare('check', '--quiet')).toMatchObject({ code: 0 })
})

test('a file that was moved or closed since it was read is open to nobody', () => {
  const [loop, config] = ['loop', 'config.json'].map((name) => join(here.folder, name)) as [string, string]
  symlinkSync(loop, loop)
  for (const file of [loop, join(config, 'below'), join(here.folder, 'none')])
    expect(isOpenToAll(file)).toBe(false)
})
