/** A Postgres address is read in one way, and what can't be read is refused without showing what may be secret. */
import { describe, expect, it } from 'vitest'
import { baseUrlProblem, warehouseLabel, warehouseProblem } from '../../../src/engine/config/address.js'
import { isFault, readPostgresAddress } from '../../../src/engine/config/postgresaddress.js'
import { proxyProblem } from '../../../src/engine/config/proxy.js'

const secret = /geheim|s3cret|zz|wort/

/** An address, what of it is shown, and parts of what it means. */
const addresses = `
postgres://me:geheim@db.example:5433/shop → postgres://me@db.example:5433/shop {"user": "me", "password": "geheim", "host": "db.example", "port": 5433, "database": "shop"}
postgresql://db/shop → postgres://db/shop {}
postgres://me:ge@heim@db/shop → postgres://me@db/shop {"password": "ge@heim", "host": "db"}
postgres://me:a:b@db/shop → postgres://me@db/shop {"password": "a:b"}
postgres://me%40x:%23%2F%3F%25@db/a%20b → postgres://me%40x@db/a%20b {"user": "me@x", "password": "#/?%"}
postgres://me:%70w%40@db/shop → postgres://me@db/shop {"password": "pw@", "typedPassword": "%70w%40"}
postgres://me@[::1]:5432/shop → postgres://me@[::1]:5432/shop {"host": "::1", "port": 5432}
postgres://me@%2Fvar%2Frun:5432/shop → postgres://me@%2Fvar%2Frun:5432/shop {"host": "/var/run"}
postgres:///shop?host=/var/run&port=5433&user=me&password=geheim → postgres://me@%2Fvar%2Frun:5433/shop {"password": "geheim", "host": "/var/run"}
postgres://db/shop?sslmode=require&application_name=nightly&connect_timeout=3 → postgres://db/shop {"tls": {"mode": "require"}, "applicationName": "nightly", "connectTimeout": 3000}
postgres://db/shop?sslrootcert=/ca.pem → postgres://db/shop {"tls": {"mode": "verify-full", "rootCert": "/ca.pem"}}
postgres://db/shop?ssl=true → postgres://db/shop {"tls": {"mode": "verify-full"}}
postgres://db → postgres://db/ {"host": "db"}
postgres://db/?dbname=shop → postgres://db/shop {"host": "db", "database": "shop"}
postgres://db/shop?sslmode=require&channel_binding=require → postgres://db/shop {"channelBinding": "require", "tls": {"mode": "require"}}
postgres://db/shop?target_session_attrs=read-write&keepalives=1&keepalives_idle=30&client_encoding=utf8 → postgres://db/shop {}
postgres://db/shop?gssencmode=disable&sslnegotiation=postgres&sslcertmode=allow&load_balance_hosts=disable → postgres://db/shop {}
`

// The last "@" ends a password, for a host has none. The last three are what Neon, Supabase and libpq's manual print.
it.each(addresses.trim().split('\n'))('is read: %s', (line) => {
  const [, url = '', label = '', parts = ''] = /^(.*) → (\S+) (.*)$/.exec(line) ?? []
  expect(readPostgresAddress(url)).toMatchObject(JSON.parse(parts))
  expect(warehouseLabel(url)).toBe(label)
  expect(warehouseProblem(url)).toBeUndefined()
})

describe('is refused with what to type, and nothing secret', () => {
  it.each([
    ['postgres://me:gehe#zz@db/shop', /"#"/, /%23/],
    ['postgres://me:12#zz@db/shop', /"#"/, /%23/],
    ['postgres://me:12/zz@db/shop', /"\/"/, /%2F/],
    ['postgres://me:12?zz@db/shop', /"\?"/, /%3F/],
    ['postgres://me:12?zz=wort@db/shop?sslmode=require', /"\?"/, /%3F/],
    ['postgres://me:ge%zz@db/shop', /"%"/, /%25/],
    ['postgres://me:geheim%@db/shop', /"%"/, /%25/],
    ['postgres://me:%ff@db/shop', /UTF-8/, /%25/],
    ['postgres://me:ge heim@db/shop', /space/, /%25/],
    ['postgres://me:geheim\n@db/shop', /line break/, /%25/],
    // The "@" was forgotten: what should be the password is read as a port.
    ['postgres://me:geheim/shop', /port/, /USER:PASSWORD@HOST/],
    ['postgres://me:geheim@db:54x2/shop', /port/, /USER:PASSWORD@HOST/],
    ['postgres://me@db:70000/shop', /port/, /USER:PASSWORD@HOST/],
    ['postgres://me@db,standby/shop', /several hosts/, /Name the one/],
    ['postgres://me@d(b)/shop', /host/, /USER:PASSWORD@HOST/],
    ['postgres://db/shop?sslmod=require', /parameter sslmod\b/, /sslmode/],
    ['postgres://db/shop?SSLMODE=require', /parameter SSLMODE/, /sslmode/],
    ['postgres://db/shop?target_session_attrs=standby', /target_session_attrs/, /target_session_attrs=any/],
    ['postgres://db/shop?target_session_attrs=s3cret', /target_session_attrs/, /target_session_attrs=any/],
    ['postgres://db/shop?gssencmode=require', /gssencmode/, /gssencmode=disable/],
    ['postgres://db/shop?channel_binding=s3cret', /channel_binding/, /channel_binding=prefer/],
    ['postgres://db/shop?sslmode=disable&channel_binding=require', /without TLS/, /sslmode=verify-full/],
    ['postgres://db/shop?pgbouncer=true', /pgbouncer/, /"pooler": true/],
    ['postgres://db/shop?currentSchema=x', /currentSchema/, /"schema": /],
    ['postgres://db/shop?hostaddr=10.0.0.1', /hostaddr/, /as the host/],
    ['postgres://db/shop?passfile=/x', /passfile/, /PGPASSFILE/],
    ['postgres://db/shop?service=x', /service/, /what the service names/],
    ['postgres://db/shop?sslpassword=s3cret', /sslpassword/, /without a passphrase/],
    ['postgres://db/shop?toString=x', /toString/, /Leave it out/],
    ['postgres://db/shop?connect_timeout=-1', /connect_timeout/, /connect_timeout=10/],
    ['jdbc:postgresql://me:geheim@db/shop', /"jdbc:"/, /Leave "jdbc:" out.*"postgresql:\/\/"/],
    ['jdbc:postgresql:shop', /"jdbc:"/, /"postgres:\/\/USER:PASSWORD@HOST/],
    ["psql 'postgresql://me:geheim@db/shop'", /without/, /Leave "psql '" out, and the quotes/],
    ['"postgres://me:geheim@db/shop"', /without/, /out, and the quotes/],
    ['s3cret-s3cret postgres://me:geheim@db/shop', /without/, /Leave what is in front of it out/],
    ['POSTGRES://me:geheim@db/shop', /"POSTGRES:"/, /"postgres:\/\/" in lower case/],
    ['postgresql+psycopg2://me:geheim@db/shop', /psycopg2/, /"postgres:\/\/USER:PASSWORD@HOST/],
    ['host=db dbname=shop user=me password=geheim', /without/, /"postgres:\/\/USER:PASSWORD@HOST/],
    ['postgres://db/shop?s3cret', /not shown/, /Leave it out/],
    ['postgres://db/shop?sslmode=', /without a value/, /sslmode=VALUE/],
    ['postgres://db/shop?sslmode=disable&sslmode=require', /twice/, /Leave one/],
    ['postgres://db/shop?sslmode=require&ssl=true', /both/, /Leave ssl out/],
    ['postgres://db/shop?ssl=false', /ssl that is not true/, /sslmode=disable/],
    ['postgres://db/shop?sslcert=/c.pem', /sslcert and sslkey/, /both/],
    ['postgres://db/shop?connect_timeout=soon', /connect_timeout/, /connect_timeout=10/],
  ])('%s', (url, found, hint) => {
    expect(isFault(readPostgresAddress(url))).toBe(true)
    const problem = warehouseProblem(url)
    expect(problem?.found).toMatch(found)
    expect(problem?.hint).toMatch(hint)
    expect(JSON.stringify([problem, warehouseLabel(url)])).not.toMatch(secret)
  })
})

it.each([
  'https://me:geheim@api.example.com',
  'https://api.example.com?key=geheim',
  'https://api.example.com#geheim',
  'me:geheim@api.example.com',
  'htps://me:geheim@api.example.com',
])('of the address of the API %s, nothing secret is shown', (url) => {
  const problem = baseUrlProblem(url, url, false)
  expect(problem).toMatchObject({ path: 'api.baseUrl', found: expect.stringContaining('not shown') })
  expect(JSON.stringify(problem)).not.toMatch(secret)
  // A path may contain an "@".
  const gateway = 'https://gateway.example.com/@shops'
  expect(baseUrlProblem(gateway, gateway, false)).toBeUndefined()
})

it.each(['12#zz', '12/zz', '12?zz', 'ge%zz'])('a proxy with the password %s is refused', (password) => {
  const problem = proxyProblem('https://api.example.com', `http://me:${password}@proxy:3128`, {})
  expect(problem?.hint).toContain('%23')
  expect(JSON.stringify(problem)).not.toMatch(secret)
})
