/** Run by vitest before each file of tests. */
import './bundledthreads.js'
import fc from 'fast-check'
import { inject } from 'vitest'
import { doAfterwards } from './afterwards.js'
import { removeClones } from './clones.js'
import { checkLeftovers } from './leftovers.js'

checkLeftovers()
fc.configureGlobal({ seed: inject('seed') })
removeClones()
doAfterwards()
