import type { MutantTable } from './productmutants.js'

export const serviceMutants: MutantTable = {}
