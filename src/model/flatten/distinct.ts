const EMPTY = Number.NaN
/** A hash table of numbers, used again for every page: a Set costs several times as much. */
let slots = new Float64Array(1024)

/** Whether all tuples differ in the value at one place. */
export function areDistinct(tuples: readonly (readonly unknown[])[], place: number): boolean {
  const count = tuples.length
  if (count < 2) return true
  if (slots.length < count * 2) slots = new Float64Array(2 ** Math.ceil(Math.log2(count * 2)))
  slots.fill(EMPTY)
  const mask = slots.length - 1
  for (let i = 0; i < count; i++) {
    const value = tuples[i]?.[place]
    if (typeof value !== 'number') return slowly(tuples, place)
    let slot = (Math.imul(value ^ (value / 2 ** 32), 0x9e3779b1) >>> 7) & mask
    for (let held = slots[slot] ?? EMPTY; !Number.isNaN(held); held = slots[slot] ?? EMPTY) {
      if (held === value) return false
      slot = (slot + 1) & mask
    }
    slots[slot] = value
  }
  return true
}

const slowly = (tuples: readonly (readonly unknown[])[], place: number): boolean =>
  new Set(tuples.map((tuple) => tuple[place])).size === tuples.length
