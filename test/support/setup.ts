/** Run by vitest before each file of tests. */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { fileBegins, fileEnded, testBegins, testEnded } from './clones.js'

beforeAll(fileBegins)
beforeEach(testBegins)
afterEach(testEnded)
afterAll(fileEnded)
