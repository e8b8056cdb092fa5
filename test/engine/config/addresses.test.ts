/** The stories of addresses.txt: how an address is read and shown, or what is said of it. */
import { expect } from 'vitest'
import { describeError, Stop } from '../../../src/engine/base/errors.js'
import { baseUrlProblem, warehouseLabel, warehouseProblem } from '../../../src/engine/config/address.js'
import { isFault, readPostgresAddress } from '../../../src/engine/config/postgresaddress.js'
import { proxyProblem } from '../../../src/engine/config/proxy.js'
import { client } from '../../support/harness/server.js'
import { plain, Steps, storiesAsTests } from '../../support/world/stories.js'

const secret = /geheim|s3cret|zz|wort/

const said = (problem: object | undefined, shown = ''): string => {
  expect(JSON.stringify([problem, shown])).not.toMatch(secret)
  return problem === undefined ? 'accepted' : plain(JSON.parse(JSON.stringify(problem)))
}

const steps = new Steps<null>({
  // What is refused here would be sent with the secret.
  'client( insecure)? REST': (_, insecure, url) => {
    try {
      client(url!, { allowInsecure: insecure !== undefined })
      return 'accepted'
    } catch (error) {
      expect(error).toBeInstanceOf(Stop)
      expect(describeError(error)).not.toMatch(secret)
      return describeError(error)
    }
  },
  'proxy REST': (_, url) => said(proxyProblem('https://api.example.com', url, {})),
  '(no proxy, )?HTTPS_PROXY REST': (_, none, url) =>
    said(proxyProblem('https://api.example.com', none === undefined ? none : false, { HTTPS_PROXY: url })),
  '(.*(?:https?|htps)://.*|me:geheim@api.*)': (_, url) => said(baseUrlProblem(url!, url!, false)),
  // A line break is typed as \\n.
  REST: (_, typed) => {
    const url = typed!.replace('\\n', '\n')
    const [label, read] = [warehouseLabel(url), readPostgresAddress(url)]
    const problem = warehouseProblem(url)
    expect(problem !== undefined).toBe(isFault(read))
    return problem ? said(problem, label) : `${label} is ${plain(JSON.parse(JSON.stringify(read)))}`
  },
})

storiesAsTests('test/engine/config/addresses.txt', steps, () => null)
