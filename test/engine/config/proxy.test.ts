/** Which proxy is used. What an invalid one is told: addresses.txt. */
import { describe, expect, test } from 'vitest'
import { proxyFor } from '../../../src/engine/config/proxy.js'

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

  // Addresses may be in brackets or not if they are of IPv6.
  test.each([
    [true, api, ['api.example.com', 'API.Example.com', 'example.com', '.example.com', '*.example.com', '*']],
    [true, api, ['other.com, example.com', 'other.com example.com:443']],
    [false, api, ['example.com:8443', 'xample.com', 'i.example.com', 'example.org', ',', '']],
    [true, 'https://10.1.2.3/', ['10.1.2.3']],
    [false, 'https://10.1.2.3/', ['10.1.2.4']],
    [true, 'https://[::1]:8443/', ['[::1]', '[::1]:8443']],
    [false, 'https://[::1]:8443/', ['[::1]:443']],
  ])('it is %s that NO_PROXY excepts %s by %j', (isExcepted, target, rules) => {
    for (const rule of rules)
      for (const name of ['NO_PROXY', 'no_proxy']) {
        const found = proxyFor(target, undefined, { HTTPS_PROXY: proxy, [name]: rule })
        expect([rule, found === undefined]).toEqual([rule, isExcepted])
      }
  })
})
