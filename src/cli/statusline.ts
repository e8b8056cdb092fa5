import type { CommandContext } from './context.js'

const clearLine = '\r\u001B[2K'
const betweenDraws = 100

/** One line on the terminal that says how far some work has come; nothing where stderr is no terminal. */
export class StatusLine {
  readonly #isOn: boolean
  readonly #started = performance.now()
  #drawn = Number.NEGATIVE_INFINITY
  #shown = false

  constructor(context: CommandContext) {
    this.#isOn = process.stderr.isTTY === true && !context.invocation.out.quiet
    if (!this.#isOn) return
    const { writeLog } = context
    context.writeLog = (text) => {
      this.clear()
      writeLog(text)
    }
    context.invocation.signals.cleanUp = () => this.clear()
  }

  /** `line`: of the milliseconds since the work began. */
  show(line: (elapsed: number) => string): void {
    const now = performance.now()
    if (!this.#isOn || now - this.#drawn < betweenDraws) return
    this.#drawn = now
    const width = Math.max(10, (process.stderr.columns || 80) - 1)
    process.stderr.write(`${clearLine}${[...line(now - this.#started)].slice(0, width).join('')}`)
    this.#shown = true
  }

  clear(): void {
    if (this.#shown) process.stderr.write(clearLine)
    this.#shown = false
  }
}
