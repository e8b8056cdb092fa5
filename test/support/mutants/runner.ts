/**
 * Plays the tests that promises name: each as the program is, and again for each of its mutants, which has to make it fail.
 * vitest uses it on a stage (stage.ts), in whose program all of these mutants are planted.
 */
import { join } from 'node:path'
import type { RunnerTask, RunnerTestCase, RunnerTestFile, RunnerTestSuite } from 'vitest'
import { VitestTestRunner } from 'vitest/runners'
import { root } from '../harness/tree.js'
import type * as breakages from './breakage.js'
import { load } from './brokenproduct.js'
import { mutantsVariable, type Play } from './play.js'
import type * as tables from './promises.js'

declare module 'vitest' {
  interface TaskMeta {
    plays?: Play[]
  }
}

function nameOf(task: RunnerTask): string {
  const { suite, name } = task
  return suite && suite.type === 'suite' && !('filepath' in suite) ? `${nameOf(suite)} ${name}` : name
}

const testsIn = (suite: RunnerTestSuite): RunnerTestCase[] =>
  suite.tasks.flatMap((task) => (task.type === 'suite' ? testsIn(task) : task))

/** A suite without a test to play doesn't prepare anything either. */
function skipIdle(suite: RunnerTestSuite): void {
  for (const task of suite.tasks) if (task.type === 'suite') skipIdle(task)
  if (suite.tasks.every(({ mode }) => mode === 'skip')) suite.mode = 'skip'
}

/** Whether these are the long tests. */
const isEverything = process.env.WAREHOUSES === 'both'

export default class MutantRunner extends VitestTestRunner {
  #promises: readonly tables.Promised[] = []
  #choose: typeof breakages.choose = () => {}
  readonly #played = (process.env[mutantsVariable] ?? '').split(',').map(Number)
  /** One that is alone in its program is always on, also in processes with an environment of their own. */
  readonly #isAlone = this.#played.length === 1
  readonly #mutants = new Map<RunnerTestCase, number[]>()
  readonly #files = new Set<RunnerTestFile>()
  /** In `npm test`, one test that notices a mutant is enough. */
  readonly #noticed = new Set<number>()

  async onBeforeCollect(): Promise<void> {
    const dist = join(root, 'dist')
    // Before the program, whose broken functions look for their breakages there.
    this.#promises = (await load<typeof tables>(dist, 'test/support/mutants/promises.ts')).promises
    if (this.#isAlone) return
    this.#choose = (await load<typeof breakages>(dist, 'test/support/mutants/breakage.ts')).choose
    this.#choose(undefined)
  }

  onCollected(files: RunnerTestFile[]): void {
    for (const file of files) {
      for (const test of testsIn(file)) {
        const those = this.#mutantsOf(file, nameOf(test))
        if (test.mode !== 'run' || those.length === 0) test.mode = 'skip'
        // In `npm test`, one test of a file is enough to see that the stage itself is sound.
        const isSoundToo = !this.#isAlone && (isEverything || !this.#files.has(file))
        if (those.length > 0) this.#files.add(file)
        test.repeats = Math.max(0, those.length - (isSoundToo ? 0 : 1))
        this.#mutants.set(test, those)
      }
      skipIdle(file)
    }
  }

  #mutantsOf({ filepath }: RunnerTestFile, name: string): number[] {
    return this.#played.filter((at) => {
      const one = this.#promises[at]
      if (!one || filepath !== join(root, one.test) || !name.includes(one.name)) return false
      const on = one.breakage.how.find((how) => how !== 'daily')
      if (on !== undefined) return name.includes(on)
      return isEverything || !name.includes('postgres')
    })
  }

  /** The sound program comes last: a mutant that leaves something behind would make it fail, too. */
  async runTask(test: RunnerTestCase): Promise<void> {
    const at = this.#mutants.get(test)?.[test.result?.repeatCount ?? 0]
    if (at !== undefined && this.#noticed.has(at) && !isEverything) return
    this.#choose(at)
    const failed = await Promise.resolve(VitestTestRunner.getTestFn(test)()).then(
      () => false,
      () => true,
    )
    this.#choose(undefined)
    if (failed && at !== undefined) this.#noticed.add(at)
    test.meta.plays = [...(test.meta.plays ?? []), { at, failed }]
  }
}
