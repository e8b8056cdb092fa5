/**
 * The time of day as a test sets it, for everything that runs in its process: the program, the sandbox, luxon. It goes on
 * as the real one does, so waits end and windows pass; what `performance` measures isn't shifted.
 */
const RealDate = Date
let ahead = 0

class ShiftedDate extends RealDate {
  // biome-ignore lint/suspicious/noExplicitAny: whatever Date takes
  constructor(...given: any[]) {
    if (given.length === 0) super(RealDate.now() + ahead)
    else super(...(given as [number]))
  }

  static override now(): number {
    return RealDate.now() + ahead
  }

  /** Node makes its own dates, such as those of files, from the real class. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Object.prototype.toString.call(value) === '[object Date]'
  }
}

/** From now on it is this instant. */
export function setTimeOfDay(milliseconds: number): void {
  ahead = milliseconds - RealDate.now()
  globalThis.Date = ShiftedDate as DateConstructor
}

export function restoreTimeOfDay(): void {
  globalThis.Date = RealDate
}
