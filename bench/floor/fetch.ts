import { Pool } from 'undici'
import type { ResourceName } from '../source/climate.js'
import type { Load } from './load.js'

const inFlight = 4

export interface Page {
  readonly tenant: number
  readonly resource: ResourceName
  readonly body: Buffer
}

interface Wanted {
  readonly tenant: number
  readonly resource: ResourceName
  readonly page: number
}

/** The pages of all lists; four requests are under way at a time. The first page of a list says how many follow. */
export async function* pages({ source, tenants, resources, updatedAfter }: Load): AsyncGenerator<Page> {
  const pool = new Pool(source, { connections: inFlight })
  const headers = { 'x-api-partner-id': '42', 'x-api-secret': 'bench' }
  const get = async ({ tenant, resource, page }: Wanted): Promise<Page & Wanted> => {
    const path = `/api/v1/tenants/${tenant}/${resource}?updated_after=${updatedAfter}&per_page=100&page=${page}`
    const { body } = await pool.request({ path, method: 'GET', headers })
    return { tenant, resource, page, body: Buffer.from(await body.arrayBuffer()) }
  }
  const wanted: Wanted[] = resources.flatMap((resource) =>
    Array.from({ length: tenants }, (_, i) => ({ tenant: i + 1, resource, page: 1 })),
  )
  const under: Promise<Page & Wanted>[] = []
  const ask = (): void => {
    const next = wanted.shift()
    if (next) under.push(get(next))
  }
  try {
    for (let i = 0; i < inFlight; i++) ask()
    while (under.length > 0) {
      const page = (await under.shift()) as Page & Wanted
      const last = page.page === 1 ? lastPage(page.body) : 1
      for (let n = 2; n <= last; n++) wanted.push({ tenant: page.tenant, resource: page.resource, page: n })
      while (under.length < inFlight && wanted.length > 0) ask()
      yield page
    }
  } finally {
    await pool.close()
  }
}

const lastPage = (body: Buffer): number =>
  Number(/"total_pages":(\d+)/.exec(body.toString('latin1', body.length - 40))?.[1])
