/* The questions that `init` asks at a terminal. */
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { input, password } from '@inquirer/prompts'
import { Stop } from '../../engine/base/errors.js'
import { parseId } from '../../engine/base/int64.js'
import { baseUrlProblem, warehouseProblem } from '../../engine/config/address.js'
import type { Problem } from '../../engine/config/problems.js'
import type { Io } from '../../shell/io.js'
import type { Answers } from './initfiles.js'

/** Hints quote the setting in the file; at a prompt or a flag, its value alone is what to type. */
const judged = (problem: Problem | undefined): true | string =>
  problem === undefined
    ? true
    : `Found ${problem.found}, expected ${problem.expected}. ${problem.hint ?? ''}`
        .trim()
        .replace(/Type "(baseUrl|url)": "([^"]*)"/, 'Type $2')

export const baseUrlJudged = (text: string): true | string => judged(baseUrlProblem(text, text, false))
export const warehouseJudged = (text: string): true | string => judged(warehouseProblem(text))
/** The API documentation only allows whole numbers. */
export const partnerIdJudged = (text: string): true | string =>
  parseId(text) !== undefined
    ? true
    : `Found ${JSON.stringify(text)}, expected your partner id: a positive whole number, such as 42`
const filledIn = (text: string): true | string =>
  text.trim() === '' ? "Found an empty line, expected what the API's operator gave you" : true

export const usualWarehouse = 'sqlite:./warehouse.db'

/** Asks for what isn't known yet. Throws Stop if the input ends before the questions do. */
export async function ask(known: Partial<Answers>, signal: AbortSignal, io: Io): Promise<Answers> {
  try {
    return await askAll(known, signal, io)
  } catch (error) {
    if (!(error instanceof Error) || !/^(Exit|Abort)PromptError$/.test(error.name)) throw error
    // At its prompt, the terminal passes Ctrl-C to the program as a key. This turns it back into the signal it is
    // elsewhere.
    if (error.message.includes('SIGINT') && !signal.aborted) {
      io.interrupt()
      // A process with nothing else to wait for would end before its signal comes.
      await Promise.race([once(signal, 'abort'), setTimeout(1000)])
    }
    throw new Stop('The questions ended before they were answered; nothing was written', { exitCode: 2 })
  }
}

/** The questions go to stderr; stdout is for the result. */
async function askAll(known: Partial<Answers>, signal: AbortSignal, { stdin, stderr }: Io): Promise<Answers> {
  const context = { input: stdin, output: stderr, signal }
  const baseUrl =
    known.baseUrl ??
    (await input({ message: 'Address of the API (https://…)', validate: baseUrlJudged }, context))
  const partnerId =
    known.partnerId ?? (await input({ message: 'Your partner id', validate: partnerIdJudged }, context))
  const secret =
    known.secret ??
    (await password({ message: 'Secret (not shown)', mask: true, validate: filledIn }, context))
  const message = 'Warehouse (sqlite:PATH or postgres://USER@HOST/DATABASE)'
  const warehouse =
    known.warehouse ?? (await input({ message, default: usualWarehouse, validate: warehouseJudged }, context))
  return { baseUrl, partnerId, secret, warehouse }
}
