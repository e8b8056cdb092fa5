/** Run by vitest before each file of tests. */
import './bundledthreads.js'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, inject } from 'vitest'
import { fileBegins, fileEnded, testBegins, testEnded } from './clones.js'
import { removeScratch } from './scratch.js'

// Called last of all: the files' own hooks still use their folders.
afterAll(removeScratch)
fc.configureGlobal({ seed: inject('seed') })
beforeAll(fileBegins)
beforeEach(testBegins)
afterEach(testEnded)
afterAll(fileEnded)
