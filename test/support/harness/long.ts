/**
 * What `npm run test:long` has played of these sources, and how long each part took: dist/long.json. A run that was cut off
 * goes on with the rest. A part is a file, or one of the outermost suites in it.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Reporter, TestModule, TestSuite, Vitest } from 'vitest/node'
import { filesIn, root, textOf } from './tree.js'

const file = join(root, 'dist/long.json')

interface Played {
  /** Of the sources that it was played with. */
  readonly hash: string
  /** Seconds, by part. */
  readonly parts: Record<string, number>
}

function read(): Played {
  const sources = ['src', 'schema', 'test'].flatMap((folder) => filesIn(folder, '.ts'))
  const all = createHash('sha256')
  for (const source of sources) all.update(`${source}\n${textOf(source)}\n`)
  const hash = all.digest('hex')
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Played) : undefined
  return before?.hash === hash ? before : { hash, parts: {} }
}

/** Settings with which a suite plays something else. */
const setting =
  /^(PROMISES|KILLS|ROUNDS|SEEDS?|FIRST|EVENTS|(WALKS|SEQUENCES?|LAWS|MOTION|YEAR|EVENT|PLAYED|LIVES|STOP)(_\w+)?)$/

/** A run of some files, or with settings of its own, neither leaves anything out nor notes anything. */
const isWhole =
  process.argv.slice(2).every((word) => word === 'run' || /^--|long\.config\.ts$/.test(word)) &&
  !Object.keys(process.env).some((name) => setting.test(name))

const played = read()

/** The parts that were played before. */
export const playedParts: readonly string[] = isWhole ? Object.keys(played.parts) : []

const partOf = (task: TestModule | TestSuite): string =>
  task.type === 'module' ? task.relativeModuleId : `${partOf(task.module)} > ${task.name}`

const minutes = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.round(seconds % 60)).padStart(2, '0')}`

export class LongReporter implements Reporter {
  readonly #started = new Map<string, number>()
  readonly #took = new Map<string, number>()
  /** What is cut off counts as skipped, and would pass. */
  #isCut = false

  onInit(vitest: Vitest): void {
    vitest.onCancel(() => {
      this.#isCut = true
    })
  }

  onTestModuleStart(module: TestModule): void {
    this.#started.set(partOf(module), performance.now())
  }

  onTestSuiteReady(suite: TestSuite): void {
    if (suite.parent.type === 'module') this.#started.set(partOf(suite), performance.now())
  }

  onTestSuiteResult(suite: TestSuite): void {
    if (suite.parent.type === 'module') this.#note(suite)
  }

  onTestModuleEnd(module: TestModule): void {
    this.#note(module)
  }

  #note(task: TestModule | TestSuite): void {
    const part = partOf(task)
    const seconds = (performance.now() - (this.#started.get(part) ?? performance.now())) / 1000
    if (task.type === 'module') this.#took.set(part, seconds)
    if (!isWhole || this.#isCut || !task.ok()) return
    played.parts[part] = seconds
    writeFileSync(file, JSON.stringify(played))
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const before = Object.entries(played.parts).filter(
      ([part]) => !part.includes(' > ') && !this.#took.has(part),
    )
    const failed = new Set(modules.filter((module) => !module.ok()).map(partOf))
    const lines = [...this.#took]
      .sort(([, one], [, other]) => other - one)
      .map(([part, seconds]) => `${minutes(seconds)} ${part}${failed.has(part) ? ' (not done)' : ''}`)
    const sum = before.reduce((all, [, seconds]) => all + seconds, 0)
    const rest = before.length > 0 ? [`${minutes(sum)} ${before.length} files that were played before`] : []
    console.log(['Played, in minutes:', ...lines, ...rest].join('\n'))
  }
}
