/**
 * What is installed from the tarball works on the oldest Node that package.json allows and on the later lines with
 * long-term support: `NODES='20.19.0 22' npm run test:apart -- node` chooses others.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { install, type OtherNode, otherNode, visit, withNode } from '../support/harness/nodes.js'
import { place } from '../support/harness/place.js'
import { root } from '../support/harness/tree.js'
import { bothWarehouses } from '../support/harness/warehouse.js'

const { NODES = '20.19.0 22 24' } = process.env
const found = await Promise.all(NODES.split(' ').map(otherNode))
const nodes = await Promise.all(
  found
    .filter((node): node is OtherNode => node !== undefined)
    .map(async (node) => ({ ...node, here: await place({ tenants: 3, repairOrders: 40 }) })),
)

test('one of them at least is there', () => {
  expect(nodes).not.toEqual([])
})

describe.each(nodes)('Node $version', ({ here, ...node }) => {
  const run = (...words: string[]) => withNode(node, here.folder, 'shopsync', ...words)
  const configure = (warehouse: object): void =>
    here.configure({
      api: { secret: here.sandbox.secret },
      warehouse,
      schedule: { listen: { port: 0 } },
      workers: { listen: { port: 0 } },
    })

  beforeAll(() => install(node))

  test('is what runs', async () => {
    const { stdout } = await withNode(node, node.app, 'node', '--version')
    expect(stdout.trim()).toMatch(new RegExp(`^v${node.version.replaceAll('.', '\\.')}(\\.|$)`))
  })

  test('plays the demo', async () => {
    rmSync(join(node.app, 'demo'), { recursive: true, force: true })
    const { stdout } = await withNode(node, node.app, 'npx', 'shopsync', 'demo')
    expect(stdout).toMatch(/^proven complete +42 of 42 +42 of 42$/m)
    expect(readFileSync(join(node.app, 'demo/report.html'), 'utf8')).toContain('</html>')
  })

  const [sqlite, postgres] = bothWarehouses()
  test.each([
    ['SQLite', sqlite],
    ['Postgres', postgres],
  ] as const)('syncs, reconciles, verifies and reports on %s', async (_, kind) => {
    const { url, schema } = kind!.address()
    configure(url.startsWith('sqlite:') ? { url } : { url, schema })
    const { status, cursors } = JSON.parse((await run('sync', '--json')).stdout)
    expect(status).toBe('ok')
    const verdicts = cursors.map(({ completeness }: { completeness: string }) => completeness)
    expect(new Set(verdicts)).toEqual(new Set(['proven']))
    for (const words of [['reconcile', '--full'], ['verify'], ['status'], ['report']]) await run(...words)
    expect(existsSync(join(here.folder, 'report.html'))).toBe(true)
  })

  test('starts the scheduler, whose page is made in a thread', async () => {
    const { page, code } = await visit(node, here.folder, 'schedule', '/')
    expect([page, code]).toEqual([expect.stringContaining('</html>'), 0])
  })

  test('starts a worker, which does a round', async () => {
    await run('run', 'hourly', '--enqueue', '2')
    await run('worker', '--once')
    const { stdout } = await run('runs', '--json', '--last', '3')
    expect(stdout.match(/"shard": ?"[01]\/2"/g)).toHaveLength(2)
    const { page, code } = await visit(node, here.folder, 'worker', '/health')
    expect([page, code]).toEqual([expect.stringContaining('"status":"ok"'), 0])
  })

  test('passes the tests of the engine that need neither a warehouse nor a process', async () => {
    const { stdout } = await withNode(
      node,
      root,
      'node',
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--project',
      'pure',
      'test/engine',
      '--reporter=dot',
    )
    expect(stdout).toMatch(/Tests +.*\d+ passed/)
  })
})
