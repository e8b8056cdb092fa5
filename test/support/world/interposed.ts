import type { Warehouse } from '../../../src/engine/warehouse/warehouse.js'

type Method = 'apply' | 'write' | 'transaction' | 'countRows'

/** For each method, what replaces it; it gets the sound one. */
type Replaced = { readonly [K in Method]?: (sound: Warehouse[K]) => Warehouse[K] }

/** The warehouse with some of its methods replaced, under a lease too. */
export const interposed = (warehouse: Warehouse, replaced: Replaced): Warehouse =>
  new Proxy(warehouse, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const sound = value.bind(target)
      if (name === 'under' || name === 'as' || name === 'reading')
        return (...given: unknown[]) => interposed(sound(...given), replaced)
      const replace = replaced[name as Method] as ((sound: unknown) => unknown) | undefined
      return replace ? replace(sound) : sound
    },
  })
