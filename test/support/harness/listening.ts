/** Programs that stay up, in processes of their own: for tests in which one is killed, or lacks something. Others: uphere.ts. */
import { Program, type ProgramOptions, program } from './process.js'
import { addressOf } from './uphere.js'

export interface Staying {
  readonly run: Program
  /** Of a listener: where to send events. */
  readonly url: string
}

/** Starts one in a folder with a configuration; resolves when it has told its address. */
export async function startStaying(
  words: readonly string[],
  { env, ...options }: ProgramOptions,
): Promise<Staying> {
  const { PATH = '' } = process.env
  const run = new Program(program, words, { ...options, env: { PATH, ...env } })
  return { run, url: await run.told(addressOf(words)) }
}

/** Sends an event as the source does; resolves to the response's status. */
export async function sendEvent(url: string, secret: string, body: string): Promise<number> {
  const response = await fetch(url, { method: 'POST', headers: { 'x-api-secret': secret }, body })
  await response.arrayBuffer()
  return response.status
}
