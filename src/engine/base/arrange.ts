import { Bug } from './errors.js'

/** Merges groups of named items into one ordered list, each item right after the one it names. */
export function arrange<
  T extends {
    /** The name of the item it follows. Default: the item before it in its group, or the last item. */
    readonly after?: string
  },
>(own: Readonly<Record<string, T>>, groups: readonly Readonly<Record<string, T>>[]): [name: string, T][] {
  const all = Object.entries(own)
  for (const group of groups) {
    let place = all.length
    for (const [name, thing] of Object.entries(group)) {
      const { after } = thing
      if (after !== undefined) place = all.findIndex(([known]) => known === after) + 1
      if (place === 0 && after !== undefined)
        throw new Bug(`${name} must follow ${after}, which does not exist`)
      all.splice(place, 0, [name, thing])
      place += 1
    }
  }
  return all
}
