/**
 * What `npm run test:search` looks for, and until when. Its configuration decides, so that its files share one
 * deadline.
 */
import { execFileSync } from 'node:child_process'
import type { LawSuite } from './lawsuite.js'
import { root } from './tree.js'

/** If no commit is known. */
const usual = 20_260_303

/** The commit as a number: repeating the search on the same commit finds the same. */
function seedOfCommit(): number | undefined {
  try {
    const words = ['rev-parse', 'HEAD']
    const commit = execFileSync('git', words, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return Number.parseInt(commit.slice(0, 7), 16)
  } catch {
    return undefined
  }
}

/** `SEED`: cases of another commit, or of a failure; `SECONDS`: how long, instead of 60. */
export function searchOf({ SEED, SECONDS = '60' }: NodeJS.ProcessEnv): LawSuite {
  const given = SEED === undefined ? seedOfCommit() : Number(SEED)
  if (!Number.isSafeInteger(given ?? usual) || !(Number(SECONDS) > 0))
    throw new Error(`SEED is ${SEED} and SECONDS is ${SECONDS}; expected an integer and a number above 0`)
  console.log(
    `SEED=${given ?? usual}${given === undefined ? ', always the same: no commit is known here' : ''}`,
  )
  return { seed: given ?? usual, amount: { until: Date.now() + Number(SECONDS) * 1000 } }
}
