import { describe, expect, test } from 'vitest'
import { proxyFor, proxyProblem } from '../../../src/engine/config/proxy.js'

const api = 'https://api.example.com/v'
const proxy = 'http://me:p%40ss@proxy.example.com:3128'

describe('which proxy', () => {
  test('the setting takes precedence over the environment, even for http', () => {
    const environment = { HTTPS_PROXY: 'http://other:1', NO_PROXY: '*' }
    for (const target of [api, 'http://127.0.0.1:8080'])
      expect(proxyFor(target, proxy, environment)).toMatchObject({
        label: 'proxy.example.com:3128',
        from: 'api.proxy',
      })
    expect(proxyFor(api, false, { HTTPS_PROXY: proxy })).toBeUndefined()
  })

  test('the environment only sets it for https; lower case takes precedence, and the scheme may be left out', () => {
    expect(proxyFor(api, undefined, {})).toBeUndefined()
    expect(proxyFor(api, undefined, { HTTPS_PROXY: '' })).toBeUndefined()
    expect(proxyFor('http://127.0.0.1:80', undefined, { HTTPS_PROXY: proxy })).toBeUndefined()
    expect(proxyFor(api, undefined, { HTTPS_PROXY: proxy })).toMatchObject({ from: 'HTTPS_PROXY' })
    const found = proxyFor(api, undefined, { HTTPS_PROXY: proxy, https_proxy: 'inner:8080' })
    expect(found).toMatchObject({ label: 'inner:8080', from: 'https_proxy' })
    expect(found?.url.reveal()).toBe('http://inner:8080')
  })

  const excepting = [
    'api.example.com',
    'API.Example.com',
    'example.com',
    '.example.com',
    '*.example.com',
    '*',
  ]
  const several = ['other.com, example.com', 'other.com example.com:443']
  const others = ['example.com:8443', 'xample.com', 'i.example.com', 'example.org', ',', '']
  test.each([
    [true, [...excepting, ...several]],
    [false, others],
  ])('NO_PROXY excepts the API: %s', (isExcepted, rules) => {
    for (const rule of rules) {
      const found = proxyFor(api, undefined, { HTTPS_PROXY: proxy, NO_PROXY: rule })
      expect([rule, found === undefined]).toEqual([rule, isExcepted])
    }
  })

  test('NO_PROXY accepts addresses, with or without brackets for IPv6', () => {
    const of = (target: string, rule: string) =>
      proxyFor(target, undefined, { HTTPS_PROXY: proxy, no_proxy: rule })
    expect(of('https://10.1.2.3/', '10.1.2.3')).toBeUndefined()
    expect(of('https://10.1.2.3/', '10.1.2.4')).toBeDefined()
    expect(of('https://[::1]:8443/', '[::1]')).toBeUndefined()
    expect(of('https://[::1]:8443/', '[::1]:8443')).toBeUndefined()
    expect(of('https://[::1]:8443/', '[::1]:443')).toBeDefined()
  })

  test('an invalid proxy is named by its place, without its text', () => {
    const socks = 'socks5://me:hidden@proxy:1080'
    for (const [setting, environment, path] of [
      [socks, {}, 'api.proxy'],
      [undefined, { HTTPS_PROXY: socks }, 'HTTPS_PROXY'],
    ] as const) {
      const problem = proxyProblem(api, setting, environment)
      expect(problem?.path).toBe(path)
      expect(JSON.stringify(problem)).not.toContain('hidden')
    }
    expect(proxyProblem(api, proxy, {})).toBeUndefined()
    expect(proxyProblem(api, false, { HTTPS_PROXY: socks })).toBeUndefined()
  })
})
