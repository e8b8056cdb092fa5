/** Plays a transcript: the text as it would be if it were written now. */
import { shopsync } from '../call.js'
import { inLines, Stabilizer } from '../documents/stable.js'
import { type Entry, entriesOf, linesOf, type Printed, wordsOf, written } from './script.js'
import { retold } from './tables.js'
import { changeWorld, lookAt } from './vocabulary.js'
import { World } from './world.js'

const stabilizerOf = ({ names, time }: World): Stabilizer =>
  new Stabilizer(names, { told: (text) => time.told(text), instants: false })

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
    const stdout = lookAt(world, text)
    return linesOf(told(stable, [], { stdout, stderr: '', code: 0 }))
  }
  const words = wordsOf(world.meant(text)).slice(1)
  const { folder, env, stdin } = world
  world.keep()
  const ended = await shopsync(words, { cwd: folder, env, stdin })
  world.stdin = ''
  return linesOf(told(stable, words, ended))
}
