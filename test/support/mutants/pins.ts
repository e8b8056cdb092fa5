/**
 * `sh tools/pins.sh [NAME…]`: searches for a case for each mutant of a law, or for those whose pin or law matches a NAME,
 * shrinks it as far as possible, and writes it to test/laws/pins. Run it when the program sends its requests or
 * statements in a different order, and a stored case no longer reveals its fault. PINS_SEED=… searches elsewhere,
 * PINS_RUNS=… longer.
 */
import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Address } from '../harness/place.js'
import { startPostgres, type TestPostgres } from '../harness/postgres.js'
import { scratch } from '../harness/scratch.js'
import { root } from '../harness/tree.js'
import type { Law } from '../world/laws/law.js'
import { BreakableLaws, pinFile } from '../world/laws/pinned.js'
import { type LawMutant, laws } from './laws.js'

const { PINS_RUNS = '5000', PINS_SEED } = process.env
const words = process.argv.slice(2)
const wanted = laws.filter(
  ({ law, pin }) => words.length === 0 || words.some((word) => `${law} ${pin}`.includes(word)),
)

/** Each law starts with the warehouses left by other laws of its kind. */
const addressesOn = (postgres: TestPostgres): { sqlite: () => Address; postgres: () => Address } => {
  let n = 0
  return {
    sqlite: () => ({
      url: `sqlite:${join(scratch(), 'warehouse.db')}`,
      schema: 'shopsync',
      threadFrom: Number.POSITIVE_INFINITY,
    }),
    postgres: () => ({ url: postgres.url, schema: `pins_${++n}` }),
  }
}

/** Searches for a case that the broken program fails and the sound one passes. */
async function search(mutant: LawMutant, law: Law<unknown>): Promise<unknown> {
  const seed = Number(PINS_SEED ?? randomInt(2 ** 31))
  let played = 0
  const found = await fc.check(
    fc.asyncProperty(await program.casesOf(mutant), async (one) => {
      if (++played % 500 === 0) console.log(`${mutant.pin}: ${played} cases played`)
      const said = await program.verdict(law, one, mutant)
      if (said !== undefined && mutant.says.test(said)) throw new Error(said)
    }),
    { numRuns: Number(PINS_RUNS), seed },
  )
  if (!found.failed || !found.counterexample)
    throw new Error(
      `${mutant.pin}: ${found.numRuns} cases of ${mutant.cases} bring nothing to light, with PINS_SEED=${seed}; PINS_RUNS=… looks longer`,
    )
  console.log(`${mutant.pin}: case ${found.numRuns} of PINS_SEED=${seed}, ${found.numShrinks} times smaller`)
  return found.counterexample[0]
}

const program = await BreakableLaws.load()
const postgres = await startPostgres()
const address = addressesOn(postgres)
/** The law of the dialects compares two; every other case has to fail on each. */
const placesOf = ({ played }: LawMutant): Address[][] =>
  played === 'dialects'
    ? [[address.sqlite(), address.postgres()]]
    : [[address.sqlite()], [address.postgres()]]

async function pin(mutant: LawMutant): Promise<void> {
  const [place = [], ...others] = placesOf(mutant)
  const first = await program.open(mutant, place)
  const one = await search(mutant, first)
  await first.close()
  for (const where of [place, ...others]) {
    const law = await program.open(mutant, where)
    const [sound, broken] = [await program.verdict(law, one), await program.verdict(law, one, mutant)]
    await law.close()
    if (sound !== undefined || !mutant.says.test(broken ?? ''))
      throw new Error(
        `${mutant.pin}: the sound program says ${sound}, the broken one ${broken} of ${JSON.stringify(one)}`,
      )
  }
  const file = join(root, pinFile(mutant))
  writeFileSync(file, JSON.stringify(one))
  execFileSync('npx', ['biome', 'format', '--write', file], { cwd: root, stdio: 'ignore' })
  console.log(`${mutant.pin}: ${pinFile(mutant)}`)
}

try {
  for (const mutant of wanted)
    await pin(mutant).catch((error: unknown) => {
      process.exitCode = 1
      console.error(error instanceof Error ? error.message : error)
    })
} finally {
  await postgres.stop()
}
