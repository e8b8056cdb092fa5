/**
 * The result of `npm pack` is complete: it contains what its pages refer to, its dependencies run on this Node, and
 * `npx shopsync` works from it. The packages it needs come from this project; test/long/tarball.test.ts installs them
 * again, and runs the demo.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { type Address, configure } from '../support/harness/place.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { scratch } from '../support/harness/scratch.js'
import { inFolder, pack } from '../support/harness/tarball.js'
import { filesIn, root } from '../support/harness/tree.js'
import { bothWarehouses } from '../support/harness/warehouse.js'

const folder = scratch()
const modules = join(folder, 'node_modules')
const installed = join(modules, 'shopsync')

const read = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T
const { version, bin, overrides } = read<{ version: string; bin: { shopsync: string }; overrides?: object }>(
  join(root, 'package.json'),
)
const lock = read<{ packages: Record<string, { dev?: boolean }> }>(join(root, 'package-lock.json'))

const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 10 })

beforeAll(async () => {
  useWarehouse({ url: 'sqlite:./warehouse.db', schema: '' })
  mkdirSync(join(modules, '.bin'), { recursive: true })
  await inFolder(modules, 'tar', '-xzf', await pack())
  await inFolder(modules, 'mv', 'package', 'shopsync')
  for (const [path, { dev = false }] of Object.entries(lock.packages)) {
    if (dev || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path)) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(join(root, path), join(folder, path))
  }
  chmodSync(join(installed, bin.shopsync), 0o755)
  symlinkSync(join('..', 'shopsync', bin.shopsync), join(modules, '.bin', 'shopsync'))
})

function useWarehouse(address: Address): void {
  const config = configure(sandbox, address, [], { sync: { resources: 'all' } })
  copyFileSync(config, join(folder, 'config.json'))
}

const run = (...words: string[]) => inFolder(folder, join(modules, '.bin/shopsync'), ...words)

/** What a demo leaves behind only exists on some machines. */
const isMadeByDemo = (path: string): boolean => path.startsWith('demo/')

/** Paths that a page refers to: its links, and anything in backticks that is a file of the project. */
function named(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8')
  const links = [...text.matchAll(/\]\(([^):#]+)(?:#[^)]*)?\)/g)].map(([, path]) =>
    join(dirname(page), path!),
  )
  const words = page === 'README.md' ? [...text.matchAll(/`([\w./-]+)`/g)].map(([, path]) => path!) : []
  return [
    ...links,
    ...words.filter((path) => path.includes('/') && !isMadeByDemo(path) && existsSync(join(root, path))),
  ]
}

it('contains every file that README names, and every page that a page links to', () => {
  const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...filesIn('docs', '.md')]
  const missing = [...pages.flatMap(named), ...pages].filter((path) => !existsSync(join(installed, path)))
  expect(missing).toEqual([])
})

it('needs no package that requires a newer Node', async () => {
  const copy = scratch()
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(root, file), join(copy, file))
  const words = ['ci', '--dry-run', '--offline', '--omit=dev', '--ignore-scripts', '--engine-strict']
  expect((await inFolder(copy, 'npm', ...words)).stdout).toMatch(/packages|up to date/)
  // People who install the tarball don't get the overrides in this project's package.json.
  expect(overrides).toBeUndefined()
})

it('runs from an empty directory: npx shopsync --version, and sync and report as npx finds them', async () => {
  expect((await inFolder(folder, 'npx', '--offline', 'shopsync', '--version')).stdout).toBe(`${version}\n`)
  expect((await run('sync')).stdout).toContain('proven')
  expect((await run('report')).stdout).toContain('report.html')
  expect(existsSync(join(folder, 'warehouse.db'))).toBe(true)
})

it('tells how to get the binary of better-sqlite3 when npm ran no install scripts, and needs it for SQLite only', async () => {
  const library = join(modules, 'better-sqlite3')
  rmSync(library)
  const isBuilt = (path: string): boolean => /better-sqlite3\/build(\/|$)/.test(path)
  cpSync(join(root, 'node_modules/better-sqlite3'), library, {
    recursive: true,
    filter: (path) => !isBuilt(path),
  })
  const failed = await run('sync').catch((error: unknown) => error)
  expect(failed).toMatchObject({ code: 3, stderr: expect.stringContaining('npm rebuild better-sqlite3') })
  const [, postgres] = bothWarehouses()
  useWarehouse(await postgres!.viewed())
  expect((await run('sync')).stdout).toContain('proven')
})
