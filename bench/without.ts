/**
 * npm run bench -- without totals|privacy|history [--pairs 15] [--phase first] …
 *
 * The cost of one thing that the product does beyond storing records (switchedoff.ts): compares this build (A) with a
 * copy in which it is switched off (B), as pairs.ts compares two builds, and with the same flags.
 */
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { brokenProduct } from '../test/support/mutants/brokenproduct.js'
import { switchedOff } from './switchedoff.js'

const [what = '', ...flags] = process.argv.slice(2)
const at = switchedOff.findIndex(({ name }) => name === what)
const found = switchedOff[at]
const names = switchedOff.map(({ name }) => name)
if (!found) throw new Error(`Found ${JSON.stringify(what)}, expected ${names.join(' or ')}`)

const table = ['bench/switchedoff.js', 'switchedOff', at] as const
const without = dirname(brokenProduct({ ...found.breakage, table }))
const pairs = join(import.meta.dirname, 'pairs.js')
const { status } = spawnSync(process.execPath, [pairs, '--against', without, ...flags], { stdio: 'inherit' })
process.exitCode = status ?? 1
