/** Random lives (test/support/lives.ts), many and larger ones. LIVES_SEED plays others. */
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { Living, lifeClock, lives } from '../support/lives.js'
import { known } from '../support/run.js'
import { sandboxOfFile } from '../support/sandbox.js'
import { keeping } from '../support/versions.js'
import { bothWarehouses, open } from '../support/warehouse.js'

const clock = lifeClock()
const sandbox = await sandboxOfFile({ data: 'none', clock })
const seed = Number(process.env.LIVES_SEED ?? 1)

const models = [
  ['without history', known],
  ['with history', keeping],
] as const
const kinds = bothWarehouses().flatMap((kind) =>
  models.map(([how, model]) => ({ name: kind.name, how, kind, model })),
)
const families = [
  ['every order that loses a service is stamped anew', true],
  ['some are not', false],
] as const

describe.each(kinds)('$name, $how', ({ kind, model }) => {
  it.each(
    families.flatMap(([name, isStamped]) => [
      [name, isStamped, 'small', [2, 15], 30, 150] as const,
      [name, isStamped, 'over several pages', [110, 260], 30, 10] as const,
    ]),
  )('%s (%s), %s', async (_name, isStamped, _size, sizes, most, numRuns) => {
    const warehouse = await open(kind, model)
    const living = new Living({ sandbox, clock, warehouse, model })
    await fc.assert(
      fc.asyncProperty(lives(isStamped, sizes, most), (life) => living.play(life)),
      { seed, numRuns, endOnFailure: true },
    )
    await warehouse.close()
  })
})
