import { afterAll, onTestFinished, TestRunner } from 'vitest'

/** vitest ignores a hook that is registered while another one runs: a list, for the one that each file has. */
const ofFile: (() => unknown)[] = []

/**
 * Done when the test that asks for it has ended, also from its beforeEach; outside a test, when the file has. What was asked
 * for last is done first.
 */
export function afterwards(work: () => unknown): void {
  if (TestRunner.getCurrentTest()) onTestFinished(async () => void (await work()))
  else ofFile.push(work)
}

/** Whatever is open until then; it may be closed before. */
export function closedAfterwards<T extends { close(): unknown }>(opened: T): T {
  afterwards(() => opened.close())
  return opened
}

/** For every file of tests. */
export function doAfterwards(): void {
  afterAll(async () => {
    for (const work of ofFile.splice(0).reverse()) await work()
  })
}
