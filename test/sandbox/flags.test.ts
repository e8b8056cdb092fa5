/** `shopsync sandbox` with the flags for events. */
import { describe, expect, it } from 'vitest'
import { Call, shopsync } from '../support/call.js'
import { receiver } from './receiver.js'

describe('shopsync sandbox --webhook', () => {
  it('announces the requested kinds of changes there', async () => {
    const heard = await receiver({ before: async () => call.kill('SIGINT') })
    const events = ['--webhook', heard.url, '--webhook-events', 'customer.deleted, customer.created']
    const chance = [
      '--events-twice',
      '0',
      '--events-drop',
      '0.0',
      '--events-delay',
      '5',
      '--events-retry',
      '3',
    ]
    const call = new Call(['sandbox', '--port', '0', '--tenants', '1', ...events, ...chance])
    let isWritten = false
    call.onText((text) => {
      const url = /sandbox +(\S+)/.exec(text)?.[1]
      if (isWritten || !text.includes('Ctrl-C')) return
      isWritten = true
      const headers = { 'X-Api-Partner-Id': '42', 'X-Api-Secret': 'sandbox-secret' }
      const write = (path: string, method: string, body: object) =>
        fetch(`${url}/api/v1/tenants/101/${path}`, { method, headers, body: JSON.stringify(body) })
      void write('customers/1', 'PUT', { last_name: 'Meyer' }).then(() => write('customers', 'POST', {}))
    })
    const { code, stdout } = await call.ended
    expect(code).toBe(0)
    expect(stdout).toContain(`events to   ${heard.url}\n`)
    expect(heard.received.map(({ event }) => event.event)).toEqual(['customer.created'])
  })

  it.each([
    [['--webhook', 'http://example.com/'], /"http:\/\/example.com\/", expected an https address/],
    [['--webhook', 'here'], /"here", expected an https address/],
    [['--events-drop', '0.1'], /no --webhook, expected an address/],
    [
      ['--webhook', 'https://a.example/', '--events-drop', '5%'],
      /--events-drop "5%", expected a number from 0/,
    ],
    [['--webhook', 'https://a.example/', '--events-twice', '1.1'], /--events-twice "1.1", expected a number/],
    [
      ['--webhook', 'https://a.example/', '--events-delay', 'x'],
      /--events-delay "x", expected a whole number/,
    ],
    [
      ['--webhook', 'https://a.example/', '--webhook-events', 'note.created'],
      /"note.created", expected names/,
    ],
    [
      Array(21).fill(['--webhook', 'https://a.example/']).flat(),
      /--webhook 21 times, expected it at most 20 times/,
    ],
  ])('reports what is wrong with %j', async (flags, said) => {
    const { code, stderr } = await shopsync(['sandbox', '--port', '0', ...flags])
    expect(stderr).toMatch(said)
    expect(code).toBe(2)
  })
})
