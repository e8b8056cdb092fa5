/** The operations that docs/sandbox.md lists are those that the sandbox has, and each of them answers. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { isHandMade } from '../../src/sandbox/data/world.js'
import { template } from '../../src/sandbox/index.js'
import { pathOf } from '../../src/sandbox/records/resources.js'
import { WRITE_ROUTES } from '../../src/sandbox/write/routes.js'
import { emptySandbox, request } from '../support/harness/requests.js'

const text = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')
const cells = [...text.matchAll(/^\| (GET|POST|PUT|DELETE) \| ([^|]+) \|/gm)].flatMap(([, method, cell]) =>
  [...cell!.matchAll(/`([^`]+)`/g)].map(([, path]) => [method!, path!] as const),
)
const rows = cells.filter(([, path]) => path !== '/:id')
const documented = rows.filter(([, path]) => !path.startsWith('/')).map((words) => words.join(' '))

it('lists the reads of the resources that shops fill, and every write', () => {
  const lists = Object.values(resources).filter(({ name, list }) => isHandMade(name) || list === 'strings')
  const reads = lists.map((resource) => `GET ${pathOf(resource)}`)
  const writes = WRITE_ROUTES.map(({ method, path }) => `${method} ${path}`)
  expect([...documented].sort()).toEqual([...reads, ...writes].sort())
})

it('answers every operation that is listed', async () => {
  const sandbox = await emptySandbox()
  const time = '2026-01-01T00:00:00.000000Z'
  for (const resource of sandbox.store.resources)
    sandbox.store.put(101, resource, {
      ...template(resource, 1, time),
      state: 'estimate',
      taggable_type: 'Customer',
    })
  const missed: string[] = []
  for (const [method, path] of rows) {
    const filled = path.replace(':partner_id', '42').replace(':service_id', '10').replaceAll(/:\w+/g, '1')
    const whole = path.startsWith('/') ? filled : `/api/v1/tenants/101/${filled}`
    const { status } = await request(sandbox, whole, method === 'GET' ? {} : { method, body: {} })
    // A creation is rejected without the fields of a body, unless all are optional.
    const expected = method === 'POST' ? (path === 'customers' ? 201 : 422) : 200
    if (status !== expected) missed.push(`${method} ${path} answers ${status}`)
    if (method === 'GET' && isHandMade(path))
      expect([path, (await request(sandbox, `${whole}/1`)).status]).toEqual([path, 200])
  }
  expect(missed).toEqual([])
})
