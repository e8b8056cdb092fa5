/** Processes of `shopsync listen`. */
import { Program, program } from './process.js'

export interface Listening {
  readonly run: Program
  /** Where to send events. */
  readonly url: string
  /** What it has written to stderr so far. */
  stderr(): string
}

/** Sends an event as the source does; resolves to the response's status. */
export async function sendEvent(url: string, secret: string, body: string): Promise<number> {
  const response = await fetch(url, { method: 'POST', headers: { 'x-api-secret': secret }, body })
  await response.arrayBuffer()
  return response.status
}

/** Starts one in a folder with a configuration; resolves when it listens. */
export async function startListening(
  cwd: string,
  env: Record<string, string>,
  flags: readonly string[] = [],
  command: 'listen' | 'schedule' = 'listen',
  kilobytes?: number,
): Promise<Listening> {
  const { PATH = '' } = process.env
  const run = new Program(program, [command, ...flags], { cwd, env: { PATH, ...env }, kilobytes })
  const url = await run.told(/https?:\/\/\S+\/webhooks/)
  return { run, url, stderr: () => run.texts.stderr }
}
