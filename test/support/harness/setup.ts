/** Run by vitest before each file of tests. */
import './bundledthreads.js'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, inject } from 'vitest'
import { fileBegins, fileEnded, testBegins, testEnded } from './clones.js'
import { refuseLeftovers, remember } from './leftovers.js'
import { removeScratch } from './scratch.js'

// Called last of all, in turned order: the files' own hooks still use their folders.
afterAll(refuseLeftovers)
afterAll(removeScratch)
beforeAll(remember)
fc.configureGlobal({ seed: inject('seed') })
beforeAll(fileBegins)
beforeEach(testBegins)
afterEach(testEnded)
afterAll(fileEnded)
