import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callerKeyLines } from '@gatehouse/auth'
import { expect } from 'chai'
import { listSettings, type Reader, type settings } from '@gatehouse/service-kit'
import { readClusterConfig } from '../cluster/config.ts'
import { roles } from '../cluster/roles.ts'
import { readBase, readCompose, readConfigOf, readKustomization } from './read-manifests.ts'

const samplePem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'

/** A value of each setting that is not its default. */
const samples: Record<keyof typeof settings, string> = {
  PORT: '18080',
  HOST: '127.0.0.9',
  PUBLIC_ORIGIN: 'https://sample.example',
  DOMAIN: 'sample.example',
  TRUST_PROXY: '192.0.2.1',
  PASSKEY_ORIGINS: 'https://www.chat.example',
  DATABASE_URL: 'postgres://sample/sample',
  NATS_URL: 'nats://sample:4222',
  REDIS_URL: 'redis://sample:6379',
  NATS_CA: samplePem,
  NATS_CERT: samplePem,
  NATS_KEY: samplePem,
  REDIS_CA: samplePem,
  REDIS_CERT: samplePem,
  REDIS_KEY: samplePem,
  JWT_SECRET: 's'.repeat(40),
  INTERNAL_SECRET: 's'.repeat(41),
  CALLER_KEYS: callerKeyLines('gateway', ['s'.repeat(45)]).join('\n'),
  OPERATOR_SECRET: 's'.repeat(46),
  JWT_SECRET_PREVIOUS: 's'.repeat(42),
  INTERNAL_SECRET_PREVIOUS: 's'.repeat(43),
  ENCRYPTION_SECRET: 's'.repeat(44),
  ENCRYPTION_SECRET_PREVIOUS: 's'.repeat(45),
  JWT_EXPIRES_IN: '7h',
  JWT_RENEW: 'false',
  PASSWORDS: 'false',
  REGISTRATION_OPEN: 'false',
  HASHING_THREADS: '97',
  HASHING_QUEUE: '98',
  AUDIT_RETENTION_DAYS: '96',
  SMTP_URL: 'smtps://user:sample@mail.example',
  SMTP_CA: samplePem,
  MAIL_FROM: 'Sample <noreply@sample.example>',
  MAIL_HOURLY_LIMIT: '95',
  FEDERATION_ALLOW_PRIVATE: '192.0.2.0/24',
  FEDERATION_RESOLVE: 'peer.example=192.0.2.3:8443',
  GATEHOUSE_DATA: 'sample',
  UPLOAD_DIR: '/sample/uploads',
  UPLOAD_STORE: 'file:/sample/store',
  AWS_ENDPOINT_URL: 'http://sample:9000',
  AWS_REGION: 'sample-1',
  AWS_ACCESS_KEY_ID: 'sample',
  AWS_SECRET_ACCESS_KEY: 'sample',
  AWS_SESSION_TOKEN: 'sample',
  WEB_ROOT: '/sample/web',
  IDENTITY_URL: 'http://sample:1',
  INVITE_URL: 'http://sample:2',
  SESSION_GATEWAY_URL: 'http://sample:3',
  FEDERATION_FANOUT_URL: 'http://sample:4',
  OPENID_URL: 'http://sample:5',
  SERVICE_DNS: '192.0.2.53:53',
  IDENTITY_PORT: '18081',
  INVITE_PORT: '18082',
  SESSION_GATEWAY_PORT: '18083',
  FEDERATION_FANOUT_PORT: '18084',
  OPENID_PORT: '18085',
  GATEHOUSE_PROVIDERS: '/sample/providers.yaml',
  GATEHOUSE_UPSTREAMS: '/sample/upstreams.yaml',
  OPS_HOST: '127.0.0.8',
  OPS_PORT: '19090',
  LOG_LEVEL: 'warn',
  LOG_ADDRESSES: 'true',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://sample:4318',
  OTEL_TRACES_SAMPLER_ARG: '0.5',
  OTEL_EXPORTER_OTLP_HEADERS: 'api-key=sample',
}

/** The library of OpenTelemetry takes it from the environment. */
const readByLibraries = ['OTEL_EXPORTER_OTLP_HEADERS']

const s3 = { UPLOAD_STORE: 's3://base/uploads', AWS_ACCESS_KEY_ID: 'base', AWS_SECRET_ACCESS_KEY: 'base' }

const mail = { SMTP_URL: 'smtps://base', MAIL_FROM: 'base@base.example' }

/** What a setting needs beside itself to be told. */
const beside: Record<string, Record<string, string>> = {
  NATS_CA: { NATS_URL: 'tls://base:4222' },
  NATS_CERT: { NATS_URL: 'tls://base:4222' },
  NATS_KEY: { NATS_URL: 'tls://base:4222' },
  REDIS_CA: { REDIS_URL: 'rediss://base:6379' },
  REDIS_CERT: { REDIS_URL: 'rediss://base:6379' },
  REDIS_KEY: { REDIS_URL: 'rediss://base:6379' },
  AWS_ENDPOINT_URL: s3,
  AWS_REGION: s3,
  AWS_ACCESS_KEY_ID: s3,
  AWS_SECRET_ACCESS_KEY: s3,
  AWS_SESSION_TOKEN: s3,
  SMTP_URL: mail,
  SMTP_CA: mail,
  MAIL_FROM: mail,
  MAIL_HOURLY_LIMIT: mail,
  OTEL_TRACES_SAMPLER_ARG: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' },
}

describe('the settings together', () => {
  it('leave the cost of a hash to policy.ts: what they say of hashing is threads and queue, whatever is set', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-settings-'))
    const unknown = { HASHING_COST: '4', HASH_COST: '4', BCRYPT_COST: '4', BCRYPT_ROUNDS: '4' }
    const addresses = { NATS_URL: 'tls://a:1', REDIS_URL: 'rediss://a:1', GATEHOUSE_DATA: folder }
    const environment = { ...samples, ...s3, ...addresses, ...unknown }
    try {
      const embedded = readConfigOf('embedded', environment) as { hashing: object }
      const { config } = readConfigOf('identity', environment) as { config: { hashing: object } }

      expect([embedded.hashing, config.hashing]).to.deep.equal(Array(2).fill({ threads: 97, queue: 98 }))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

/** Wrong values are told only beside right ones of these: an origin, the kind of store. The folder is no fault before it is opened. */
const apart = ['DOMAIN', 'UPLOAD_STORE', 'GATEHOUSE_DATA']

describe('settings that are wrong', () => {
  for (const reader of [...roles, 'embedded'] as const) {
    it(`are told all in one go by ${reader}`, () => {
      const right = Object.fromEntries(Object.entries({ ...samples, ...s3 }).filter(([name]) => !apart.includes(name)))
      const tls = { NATS_URL: 'tls://a:1', REDIS_URL: 'rediss://a:1', ...s3 }
      const named = (wrong: object): (string | undefined)[] => {
        try {
          readConfigOf(reader, { ...right, GATEHOUSE_DATA: '/dev/null/none', ...tls, ...wrong })
        } catch (error) {
          return (error as Error).message
            .split('\n')
            .map((line) => line.split(':')[0])
            .filter((name) => name !== 'GATEHOUSE_DATA')
        }
        return []
      }
      const values = listSettings()
        .filter(({ name, readers }) => readers.includes(reader as never) && !apart.includes(name))
        .map(({ name }) => [name, '%wrong%'] as const)
      const alone = values.flatMap(([name, value]) => named({ [name]: value }))

      expect(named(Object.fromEntries(values))).to.have.members(alone)
      expect(alone.length).to.be.above(5)
    })
  }
})

const compose = readCompose()
const kubernetes = { objects: readBase(), maps: readKustomization('base').configMapGenerator }

const sampleOf = (name: string): string => samples[name as keyof typeof samples]

describe('each setting', () => {
  let folder: string
  let base: Record<string, string>

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-settings-'))
    base = {
      GATEHOUSE_DATA: folder,
      DATABASE_URL: 'postgres://base/base',
      NATS_URL: 'nats://base:4222',
      REDIS_URL: 'redis://base:6379',
      IDENTITY_URL: 'http://base:1',
      INVITE_URL: 'http://base:2',
      SESSION_GATEWAY_URL: 'http://base:3',
      FEDERATION_FANOUT_URL: 'http://base:4',
      OPENID_URL: 'http://base:5',
      JWT_SECRET: 'b'.repeat(32),
      INTERNAL_SECRET: 'b'.repeat(32),
      CALLER_KEYS: callerKeyLines('gateway', ['b'.repeat(32)]).join('\n'),
      ENCRYPTION_SECRET: 'b'.repeat(32),
    }
  })
  after(() => rmSync(folder, { recursive: true }))

  /** Whether the configuration of a process differs by a setting alone. */
  const hears = (reader: Reader, name: string, given: Record<string, string>): boolean => {
    const without = { ...base, ...beside[name] }
    const value = name === 'GATEHOUSE_DATA' ? join(folder, 'sample') : given[name]!
    const read = (environment: Record<string, string>) => JSON.stringify(readConfigOf(reader, environment))
    return read({ ...without, [name]: value }) !== read(without)
  }

  for (const { name, readers, chosenBy = [], isSecret } of listSettings()) {
    const sample = sampleOf(name)
    const forms = (['cluster', 'compose', 'kubernetes'] as const).filter((form) => !chosenBy.includes(form))

    it(`${name} is heard by each of its readers`, () => {
      for (const reader of readers) {
        expect(hears(reader, name, { [name]: sample }), reader).to.equal(!readByLibraries.includes(name))
      }
    })

    if (forms.includes('cluster')) {
      it(`${name} reaches the processes of a cluster, from a file too`, () => {
        const file = join(folder, name)
        writeFileSync(file, sample)
        expect(readClusterConfig([], { [name]: sample }).forwarded).to.deep.equal({ [name]: sample })
        expect(readClusterConfig([], { [`${name}_FILE`]: file }).forwarded).to.deep.equal({ [name]: sample })
      })
    }

    if (forms.includes('compose')) {
      it(`${name} reaches its containers by Docker Compose`, () => {
        for (const role of roles.filter((one) => (readers as readonly string[]).includes(one))) {
          const environment = compose.services[role]!.environment!
          if (isSecret) {
            expect(environment[`${name}_FILE`], role).to.equal(`/run/secrets/${name.toLowerCase()}`)
            continue
          }
          const [, variable] = /^\$\{(\w+):-[^}]*\}$/.exec(String(environment[name])) ?? []
          expect(variable, role).to.equal(name)
        }
      })
    }

    if (forms.includes('kubernetes')) {
      it(`${name} reaches its pods by Kubernetes`, () => {
        for (const role of roles.filter((one) => (readers as readonly string[]).includes(one))) {
          const deployment = kubernetes.objects.find((one) => one.kind === 'Deployment' && one.metadata.name === role)!
          const { env, envFrom } = deployment.spec.template.spec.containers[0] as {
            env: { name: string; valueFrom?: { secretKeyRef?: object } }[]
            envFrom: { configMapRef: { name: string } }[]
          }
          const literals = envFrom.flatMap(
            ({ configMapRef }) => kubernetes.maps.find((map) => map.name === configMapRef.name)!.literals,
          )
          const has = isSecret
            ? env.some((one) => one.name === name && one.valueFrom?.secretKeyRef)
            : literals.some((literal) => literal.startsWith(`${name}=`))
          expect(has, role).to.equal(true)
        }
      })
    }
  }
})
