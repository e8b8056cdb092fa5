/* Tests every receiver of alerts and every heartbeat: `shopsync check --alerts`. */
import type { Secret } from '../../engine/config/secret.js'
import { beat, type Sent } from '../../shell/send.js'
import type { AlertSettings } from './alertsettings.js'
import { installationOf, type Message, testText } from './alerttext.js'
import { deliver } from './deliver.js'
import { namedRules, ruleName } from './telling.js'
import type { AlertOptions } from './tellrules.js'

interface AlertTest {
  /** The setting, never its address. */
  readonly whom: string
  readonly sent: Sent
}

/** A person who runs the test waits for it and can run it again. */
const budgetMs = 15_000

/** Sends a test message to each rule, without an incident, and calls each heartbeat as a good run would. */
export function testAlerts(
  { rules, heartbeat, name: given }: AlertSettings,
  ofJobs: readonly { readonly job: string; readonly address: Secret }[],
  {
    clock,
    label,
    secrets,
    programs,
    signal,
  }: Required<Pick<AlertOptions, 'clock' | 'label' | 'secrets' | 'programs' | 'signal'>>,
): Promise<AlertTest[]> {
  const name = installationOf({ name: given })
  const message: Message = {
    body: {
      type: 'opened',
      text: testText({ name }),
      incidents: [],
      run_id: null,
      job: null,
      warehouse: label,
      name,
    },
    news: 'test',
  }
  const how = { clock, secrets, programs, budgetMs, signal }
  const tests = namedRules(rules).map(async (rule): Promise<AlertTest> => {
    // Each test is a new message, even to a receiver that remembers the last one.
    const fresh = { ...rule, id: `${rule.id} ${clock.nowMicros()}` }
    return { whom: ruleName(rule), sent: await deliver(fresh, message, how) }
  })
  const called = async (whom: string, address: Secret): Promise<AlertTest> => ({
    whom,
    sent: await beat(address.reveal(), 0, clock, signal),
  })
  const calls = ofJobs.map(({ job, address }) => called(`heartbeat of ${job}`, address))
  if (heartbeat !== undefined) calls.unshift(called('alerts.heartbeat', heartbeat))
  return Promise.all([...tests, ...calls])
}
