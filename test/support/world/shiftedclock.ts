/** Loaded before a program: its time of day is CLOCK_AHEAD milliseconds ahead of this machine's. */
const ahead = Number(process.env.CLOCK_AHEAD ?? 0)
const Sound = Date
const now = (): number => Sound.now() + ahead

globalThis.Date = new Proxy(Sound, {
  construct: (_, given) => Reflect.construct(Sound, given.length === 0 ? [now()] : given),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
