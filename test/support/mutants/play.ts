/** What a stage (stage.ts) and the vitest that it starts (runner.ts) say to each other. */

/** What became of a test: with a mutant, by its number, or with the sound program. */
export interface Play {
  readonly at: number | undefined
  readonly failed: boolean
}

export interface Played {
  readonly name: string
  readonly plays: readonly Play[]
}

/** In the environment: the numbers of the mutants that are played. */
export const mutantsVariable = 'SHOPSYNC_MUTANTS'

/**
 * On which of the warehouses no test has noticed a mutant. A test that can be played only once in its file, so that it fails
 * with the sound program too, has noticed nothing.
 */
export function unnoticedOn(played: readonly Played[], at: number): string[] {
  const sound = played.filter(({ plays }) => !plays.some((one) => one.at === undefined && one.failed))
  const tests = sound.flatMap(({ name, plays }) =>
    plays.filter((one) => one.at === at).map(({ failed }) => ({ name, failed })),
  )
  if (tests.length === 0) return ['no test was played']
  const kinds = ['sqlite', 'postgres'].filter((kind) => tests.some(({ name }) => name.includes(kind)))
  const places = kinds.length > 0 ? kinds : ['']
  return places.filter((kind) => !tests.some(({ name, failed }) => failed && name.includes(kind)))
}
