/** `shopsync listen` in this process, for tests in which it isn't killed. */
import { Call, type Ended } from './call.js'

/** Starts one; resolves when it listens. */
export async function listenHere(
  cwd: string,
  secret: string,
): Promise<{ readonly url: string; readonly end: () => Promise<Ended> }> {
  const call = new Call(['listen', '--port', '0'], { cwd, env: { API_SECRET: secret } })
  const url = await new Promise<string>((resolve, reject) => {
    call.onText((text) => {
      const found = /https?:\/\/\S+\/webhooks/.exec(text)?.[0]
      if (found) resolve(found)
    })
    void call.ended.then(({ stderr }) => reject(new Error(stderr)))
  })
  const end = (): Promise<Ended> => {
    call.kill('SIGTERM')
    return call.ended
  }
  return { url, end }
}
