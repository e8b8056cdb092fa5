/**
 * Another time of day for everything that runs in a process: the program, the sandbox, luxon. It goes on as the real one
 * does, so waits end and windows pass, but not with it when somebody sets the machine's clock. What `performance` measures
 * isn't shifted. A test sets it here; loaded before a program in a process of its own, it is CLOCK_AHEAD milliseconds ahead.
 */
const RealDate = Date
let ahead = Number(process.env.CLOCK_AHEAD ?? 0)
const real = (): number => Math.floor(performance.timeOrigin + performance.now())
const now = (): number => real() + ahead

const ShiftedDate = new Proxy(RealDate, {
  construct: (_, given) => Reflect.construct(RealDate, given.length === 0 ? [now()] : given),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
if (ahead !== 0) globalThis.Date = ShiftedDate

/** From now on it is this instant. */
export function setTimeOfDay(milliseconds: number): void {
  ahead = milliseconds - real()
  globalThis.Date = ShiftedDate
}

export function restoreTimeOfDay(): void {
  globalThis.Date = RealDate
}
