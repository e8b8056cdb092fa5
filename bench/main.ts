/**
 * npm run bench -- [NAME] [flags]: the bench of that name, or the comparison with the limits (contest.ts). Each says at its
 * top what it measures, and with which flags.
 */
const known = 'accept contest follow freshness idle latency pairs peers status throttle views without workers'
const [first = ''] = process.argv.slice(2)
const isNamed = first !== '' && !first.startsWith('--')
if (isNamed) process.argv.splice(2, 1)
const name = isNamed ? first : 'contest'
if (!known.split(' ').includes(name)) throw new Error(`Found ${JSON.stringify(name)}, expected ${known}`)
await import(`./${name}.js`)
