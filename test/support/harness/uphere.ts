/** Programs that stay up, in this process: for tests in which none is killed. */
import { Call, type CallOptions, type Ended } from './call.js'

export interface Up {
  readonly call: Call
  readonly url: string
  /** SIGTERM. */
  readonly end: () => Promise<Ended>
}

/** What it tells of its address. */
export const addressOf = ([command]: readonly string[]): RegExp =>
  command === 'listen' ? /https?:\/\/\S+\/webhooks/ : /http:\/\/[^\s"]+/

/** Starts one in a folder with a configuration; resolves when it has told its address. */
export async function upHere(words: readonly string[], options: CallOptions): Promise<Up> {
  const call = new Call(words, options)
  const url = await new Promise<string>((resolve, reject) => {
    call.onText((text) => {
      const found = addressOf(words).exec(text)?.[0]
      if (found) resolve(found)
    })
    void call.ended.then(({ stderr }) => reject(new Error(stderr)))
  })
  const end = (): Promise<Ended> => {
    call.kill('SIGTERM')
    return call.ended
  }
  return { call, url, end }
}

/** `shopsync listen`. */
export const listenHere = (cwd: string, secret: string, flags: readonly string[] = []): Promise<Up> =>
  upHere(['listen', '--port', '0', ...flags], { cwd, env: { API_SECRET: secret } })
