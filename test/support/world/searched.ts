/**
 * Which random cases the tests play. What `npm run test:apart -- search` looks for and until when, its configuration
 * decides, so that its files share one deadline.
 */
import { execFileSync } from 'node:child_process'
import { root } from '../harness/tree.js'
import type { LawSuite } from './lawsuite.js'

/** If no commit is known. */
const usual = 20_260_303

/** The files of the last commit as a number: what is red for them once is red each time, under whatever commit. */
function seedOfFiles(): number | undefined {
  try {
    const words = ['rev-parse', 'HEAD^{tree}']
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

/** The seed of every property that names none; `SEED` plays the cases of other files, or of a failure. */
export function seedOfProperties({ SEED }: NodeJS.ProcessEnv): number {
  const seed = Number(SEED ?? seedOfFiles() ?? usual)
  if (Number.isSafeInteger(seed)) return seed
  throw new Error(`SEED is ${SEED}; expected an integer`)
}

/** `SECONDS`: how long, instead of 36. */
export function searchOf(env: NodeJS.ProcessEnv): LawSuite {
  const { SECONDS = '36' } = env
  if (!(Number(SECONDS) > 0)) throw new Error(`SECONDS is ${SECONDS}; expected a number above 0`)
  const seed = seedOfProperties(env)
  console.log(`SEED=${seed}${seed === usual ? ', as where no commit is known' : ''}`)
  return { seed, amount: { until: Date.now() + Number(SECONDS) * 1000 } }
}
