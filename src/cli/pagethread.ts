/*
 * The thread in which `shopsync schedule` makes the page of its report: to ask the views and to draw takes seconds, in
 * which the program could neither answer nor begin a job. Started by pagemaker.ts for one page.
 */
import { Writable } from 'node:stream'
import { parentPort, workerData } from 'node:worker_threads'
import { describeError } from '../errors.js'
import type { Globals } from './command.js'
import { withContext } from './context.js'
import type { Io } from './io.js'
import { Output } from './output.js'
import { drawReport } from './reportfile.js'
import { stillSignals } from './signals.js'

/** What the thread answers: the page, or why there is none. */
export type PageAnswer = { readonly page: string } | { readonly error: string }

/** What the page is of, as values that go to a thread. */
export interface PageCall {
  readonly globals: Globals
  readonly io: Pick<Io, 'environment' | 'workingDirectory' | 'started'>
}

async function make({ globals, io: given }: PageCall): Promise<PageAnswer> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const out = new Output({ json: false, quiet: true, stdout: nowhere, stderr: process.stderr })
  const rest = { argument: undefined, second: undefined, options: {} }
  const signals = stillSignals(new AbortController().signal)
  const io: Io = {
    ...given,
    ...{ stdin: process.stdin, stdout: nowhere, stderr: process.stderr },
    // The program outside of the thread takes the signals, and ends the thread.
    onSignal: () => () => {},
    interrupt: () => {},
    exit: () => {},
    collectAt: () => {},
  }
  try {
    return await withContext(
      { command: 'schedule', globals, ...rest, out, signals, io },
      async (context) => ({
        page: (await drawReport(context, context.choice.tenants)).text,
      }),
    )
  } catch (error) {
    return { error: describeError(error) }
  }
}

parentPort?.postMessage(await make(workerData as PageCall))
