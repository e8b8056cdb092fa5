/** `shopsync listen` in this process, for tests in which it isn't killed. */
import { type Up, upHere } from './uphere.js'

export const listenHere = (cwd: string, secret: string, flags: readonly string[] = []): Promise<Up> =>
  upHere(['listen', '--port', '0', ...flags], { cwd, env: { API_SECRET: secret } })
