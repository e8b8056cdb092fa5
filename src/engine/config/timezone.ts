/** Names of time zones. Used to check the configuration, and wherever the API names a shop's zone. */
import { nearest } from './nearest.js'

let names:
  | {
      /** The names that Intl lists. It accepts more: IANA names that are links, such as US/Central. */
      readonly listed: ReadonlySet<string>
      /** Distinguishes an IANA link from a listed name in different case; Intl accepts both. */
      readonly capitalized: ReadonlySet<string>
    }
  | undefined

/** Computed once, and only when a name is needed: most commands need none. */
function zoneNames() {
  if (names === undefined) {
    const all = Intl.supportedValuesOf('timeZone')
    names = { listed: new Set(all), capitalized: new Set(all.map((name) => name.toLowerCase())) }
  }
  return names
}

function isTaken(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** Names without a place that have one clear meaning, including daylight saving time. */
const placeless: ReadonlySet<string> = new Set(
  'UTC GMT CET EET MET WET EST5EDT CST6CDT MST7MDT PST8PDT'.split(' '),
)

/**
 * Whether a text is a time zone name from the IANA list. Offsets such as `UTC-6` aren't accepted: databases read them
 * backwards, and they have no daylight saving time. Neither are names in different case, nor EST and the like, which
 * mean an offset that never changes, although people think of a place where it does.
 */
export function isTimeZone(name: string): boolean {
  if (placeless.has(name)) return true
  const { listed, capitalized } = zoneNames()
  if (listed.has(name)) return name.includes('/')
  return (
    /^[A-Z]\w+(\/[A-Z][A-Za-z0-9_+-]*)+$/.test(name) && !capitalized.has(name.toLowerCase()) && isTaken(name)
  )
}

/** What people type when they mean a place. */
const abbreviations: Readonly<Record<string, string>> = {
  EST: 'America/New_York',
  EDT: 'America/New_York',
  ET: 'America/New_York',
  CST: 'America/Chicago',
  CDT: 'America/Chicago',
  CT: 'America/Chicago',
  MST: 'America/Denver',
  MDT: 'America/Denver',
  MT: 'America/Denver',
  PST: 'America/Los_Angeles',
  PDT: 'America/Los_Angeles',
  PT: 'America/Los_Angeles',
  HST: 'Pacific/Honolulu',
}

/** The zone that a person most likely meant. */
export function nearestTimeZone(name: string): string | undefined {
  const short = abbreviations[name.toUpperCase()]
  if (short) return short
  // An offset doesn't show which place is meant.
  if (/^(UTC|GMT)?[+-]?\d/i.test(name)) return undefined
  const { listed } = zoneNames()
  const city = name.split('/').at(-1) ?? name
  const cities = new Map([...listed].map((zone) => [zone.split('/').at(-1) ?? zone, zone]))
  const near = nearest(name, listed)
  const nearCity = nearest(city.replaceAll(' ', '_'), cities.keys())
  return near ?? (nearCity === undefined ? undefined : cities.get(nearCity))
}
