/** Plays a transcript: the text as it would be if it were written now. */
import { shopsync } from '../call.js'
import { inLines, Stabilizer } from '../stable.js'
import { atTerminal } from '../terminal.js'
import { type Entry, entriesOf, linesOf, type Printed, wordsOf, written } from './script.js'
import { retold } from './tables.js'
import { changeWorld, lookAt } from './vocabulary.js'
import { World } from './world.js'

/** Log lines: what they are about differs between machines, so only warnings and errors are told, by their message. */
function withoutLog(stderr: string): string {
  const lines = stderr.split('\n').flatMap((line) => {
    if (!line.startsWith('{"level":')) return [line]
    const { level, msg } = JSON.parse(line) as { level: string; msg: string }
    return level === 'warn' || level === 'error' ? [`${level}: ${msg}`] : []
  })
  return lines.join('\n')
}

/** What depends on where, by whom and at what time of day the tests run. */
const everywhere = (text: string): string =>
  text
    // init leaves it out where the program or its folder is in /tmp.
    .replaceAll('PrivateTmp=yes\n', '')
    .replaceAll(/(the machine's time zone, )[\w/+-]+/g, '$1<zone>')
    .replaceAll(`user: "${process.getuid?.()}:${process.getgid?.()}"`, 'user: "<user>"')
    // A line of the log on a terminal.
    .replaceAll(/^\d\d:\d\d:\d\d (?=[A-Z])/gm, '<time> ')

function told(stable: Stabilizer, words: readonly string[], { stdout, stderr, code }: Printed): Printed {
  const tell = (text: string): string => retold(everywhere(text), (line) => stable.text(line))
  const document = words.includes('--json') ? inLines(stable.value(JSON.parse(stdout), true)) : undefined
  return { stdout: document ?? tell(stdout), stderr: tell(withoutLog(stderr)), code }
}

export async function play(transcript: string): Promise<string> {
  const world = await World.open()
  const stable = new Stabilizer((text) => world.time.told(world.named(everywhere(text))))
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
    return linesOf(told(stable, [], await lookAt(world, world.meant(text))))
  }
  const words = wordsOf(world.meant(text)).slice(1)
  const { folder: cwd, env, stdin, columns } = world
  await world.keep()
  world.stdin = ''
  if (columns === undefined) return linesOf(told(stable, words, await shopsync(words, { cwd, env, stdin })))
  const { code, lines } = await atTerminal(words, { cwd, env, stdin, columns })
  return linesOf(told(stable, words, { stdout: lines.join('\n'), stderr: '', code }))
}
