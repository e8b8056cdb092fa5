/** Plays a transcript: the text as it would be if it were written now. */
import { shopsync } from '../call.js'
import { inLines, Stabilizer } from '../documents/stable.js'
import { atTerminal } from '../terminal.js'
import { type Entry, entriesOf, linesOf, type Printed, wordsOf, written } from './script.js'
import { retold } from './tables.js'
import { changeWorld, lookAt } from './vocabulary.js'
import { World } from './world.js'

/** A warehouse on Postgres has its names only once there is one. */
const stabilizerOf = (world: World): Stabilizer =>
  new Stabilizer([], { told: (text) => world.time.told(world.named(text)), instants: false })

/** Log lines: what they are about differs between machines, so only warnings and errors are told, by their message. */
function withoutLog(stderr: string): string {
  const lines = stderr.split('\n').flatMap((line) => {
    if (!line.startsWith('{"level":')) return [line]
    const { level, msg } = JSON.parse(line) as { level: string; msg: string }
    return level === 'warn' || level === 'error' ? [`${level}: ${msg}`] : []
  })
  return lines.join('\n')
}

function told(stable: Stabilizer, words: readonly string[], { stdout, stderr, code }: Printed): Printed {
  // init leaves it out where the program or its folder is in /tmp: it depends on where the tests run.
  const everywhere = (text: string): string => text.replaceAll('PrivateTmp=yes\n', '')
  const tell = (text: string): string => retold(everywhere(text), (line) => stable.text(line))
  const document = words.includes('--json') ? inLines(stable.value(JSON.parse(stdout), true)) : undefined
  return { stdout: document ?? tell(stdout), stderr: tell(withoutLog(stderr)), code }
}

export async function play(transcript: string): Promise<string> {
  const world = await World.open({ tenants: 2, repairOrders: 6 })
  const stable = stabilizerOf(world)
  const played: [Entry, readonly string[]][] = []
  try {
    for (const entry of entriesOf(transcript)) played.push([entry, await printedBy(entry, world, stable)])
  } finally {
    await world.close()
  }
  return written(played)
}

async function printedBy(
  { kind, text }: Entry,
  world: World,
  stable: Stabilizer,
): Promise<readonly string[]> {
  if (kind === 'change') await changeWorld(world, text)
  if (kind !== 'command') return []
  if (!text.startsWith('shopsync')) {
    return linesOf(told(stable, [], await lookAt(world, text)))
  }
  const words = wordsOf(world.meant(text)).slice(1)
  const { folder: cwd, env, stdin, columns } = world
  await world.keep()
  world.stdin = ''
  if (columns === undefined) return linesOf(told(stable, words, await shopsync(words, { cwd, env, stdin })))
  const { code, lines } = await atTerminal(words, { cwd, env, stdin, columns })
  return linesOf(told(stable, words, { stdout: lines.join('\n'), stderr: '', code }))
}
