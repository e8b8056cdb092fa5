/** The limit of reading: every page of every list is fetched and parsed, and nothing is done with it. */
import { Pool } from 'undici'
import type { Load } from './load.js'

/** Requests running at once: the source is one process, where more of them would only queue up. */
const inFlight = 4

interface Wanted {
  readonly list: string
  readonly page: number
}

const lastPage = (body: Buffer): number =>
  Number(/"total_pages":(\d+)/.exec(body.toString('latin1', body.length - 40))?.[1])

export async function load({ source, tenants, resources, updatedAfter }: Load): Promise<void> {
  const pool = new Pool(source, { connections: inFlight })
  const headers = { 'x-api-partner-id': '42', 'x-api-secret': 'bench' }
  const wanted: Wanted[] = resources.flatMap((resource) =>
    Array.from({ length: tenants }, (_, i) => ({ list: `${i + 1}/${resource}`, page: 1 })),
  )
  const take = async ({ list, page }: Wanted): Promise<void> => {
    const path = `/api/v1/tenants/${list}?updated_after=${updatedAfter}&per_page=100&page=${page}`
    const { body } = await pool.request({ path, method: 'GET', headers })
    const bytes = Buffer.from(await body.arrayBuffer())
    JSON.parse(bytes.toString('utf8'))
    // The first page of a list shows how many follow.
    for (let next = 2; page === 1 && next <= lastPage(bytes); next++) wanted.push({ list, page: next })
  }
  const turn = async (): Promise<void> => {
    for (let next = wanted.shift(); next; next = wanted.shift()) await take(next)
  }
  // A list's first page may still be running when nothing else is queued.
  while (wanted.length > 0) await Promise.all(Array.from({ length: inFlight }, turn))
  await pool.close()
}
