import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { mains, roles } from './cluster/places.ts'
import { projectRoot, readBase, readCompose, readKustomization, readText, variablesOf } from './test/read-manifests.ts'
import type { ComposeService, Manifest } from './test/read-manifests.ts'

const opsPorts = { gateway: 9090, identity: 8081, invite: 8082, 'session-gateway': 8083, 'federation-fanout': 8084 }
const PRE_STOP_S = 5
const STOP_LIMIT_S = Number(/stopLimitMs = (\d+)_000/.exec(readText('libs/service-kit/src/run-until-stopped.ts'))?.[1])

/** Names as the process reads them: `X_FILE` gives X. */
const given = (names: string[]): string[] => names.map((name) => name.replace(/_FILE$/, '')).sort()

describe('env.example', () => {
  const named = [...readText('deploy/env.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name!)

  it('names every variable that any process reads, each once, and no others', () => {
    const read = new Set([...roles, 'embedded' as const].flatMap((role) => variablesOf(role).read))

    expect(named).to.have.members([...read, 'PUBLISH'])
  })
})

describe('docker-compose.yml', () => {
  const compose = readCompose()
  const service = (name: string): ComposeService => compose.services[name]!

  for (const role of roles) {
    it(`gives ${role} every variable that has no default, and none that it does not read`, () => {
      const { read, required } = variablesOf(role)
      const names = given(Object.keys(service(role).environment!))

      expect(names).to.include.members(required)
      expect(read).to.include.members(names)
    })

    it(`runs ${role} from a file that exists, and asks for its health where it answers`, () => {
      expect(service(role).command).to.deep.equal([...(mains[role].flags ?? []), mains[role].file])
      expect(existsSync(resolve(projectRoot, mains[role].file))).to.equal(true)
      expect(service(role).healthcheck?.test).to.deep.equal([
        'CMD',
        'node',
        'deploy/healthcheck.ts',
        String(opsPorts[role]),
      ])
    })

    it(`leaves ${role} no more rights and no less time to stop than it needs`, () => {
      expect(service(role)).to.deep.include({ read_only: true, cap_drop: ['ALL'], stop_grace_period: '40s' })
      expect(service(role).security_opt).to.include('no-new-privileges:true')
      expect(STOP_LIMIT_S).to.be.greaterThan(0).and.lessThan(40)
    })
  }

  it('mounts every secret that a variable or a server names, and declares all of them', () => {
    const made = readText('deploy/make-secrets.sh')
    for (const { environment = {}, secrets = [] } of Object.values(compose.services)) {
      const mounted = secrets.map((secret) => (typeof secret === 'string' ? secret : secret.target))
      const files = Object.entries(environment).flatMap(([name, value]) =>
        name.endsWith('_FILE') ? [String(value)] : [],
      )
      expect(mounted).to.include.members(files.map((file) => file.replace('/run/secrets/', '')))
      const sources = secrets.map((secret) => (typeof secret === 'string' ? secret : secret.source))
      expect(Object.keys(compose.secrets)).to.include.members(sources)
    }
    for (const { file } of Object.values(compose.secrets)) {
      const name = file.replace('deploy/secrets/', '').replace(/^(nats_url)_.*/, '$1')
      expect(made).to.include(`keep ${name}`.replace('keep nats_url', 'keep "nats_url_$service"'))
    }
  })

  it('opens one port to the outside, and lets only identity and federation-fanout reach out', () => {
    const open = Object.entries(compose.services).filter(([, { ports }]) => ports)
    expect(open.map(([name]) => name)).to.deep.equal(['gateway'])
    expect(compose.networks).to.deep.include({ services: { internal: true }, servers: { internal: true } })
    const outside = Object.entries(compose.services).filter(([, { networks }]) => networks?.includes('outside'))
    expect(outside.map(([name]) => name)).to.have.members(['identity', 'federation-fanout'])
  })

  it('migrates before anything else starts, and waits for servers that answer', () => {
    for (const role of roles.filter((name) => name !== 'gateway')) {
      expect(service(role).depends_on).to.deep.equal({
        migrate: { condition: 'service_completed_successfully' },
        postgres: { condition: 'service_healthy' },
        nats: { condition: 'service_healthy' },
        redis: { condition: 'service_healthy' },
      })
    }
    for (const name of ['postgres', 'nats', 'redis']) expect(service(name).healthcheck?.test).to.be.an('array')
  })
})

describe('the Dockerfile', () => {
  const text = readText('deploy/Dockerfile')

  it('copies what exists, and everything that a process is started from', () => {
    const copies = [...text.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, sources]) => sources!.split(' '))
    for (const path of copies) expect(existsSync(resolve(projectRoot, path)), path).to.equal(true)
    for (const { file } of Object.values(mains)) expect(copies).to.include(file.replace('/src/main.ts', ''))
    expect(copies).to.include.members(['libs', 'deploy/migrate.ts', 'deploy/healthcheck.ts'])
  })

  it('ends as a user that is not root', () => {
    expect(text.match(/^USER .*/gm)).to.deep.equal(['USER 10001:10001'])
  })
})

describe('the Kubernetes base', () => {
  const base = readBase()
  const kustomization = readKustomization('base')
  const find = (kind: string, name: string): Manifest =>
    base.find((one) => one.kind === kind && one.metadata.name === name)!
  const literals = (name: string): string[] =>
    kustomization.configMapGenerator.find((map) => map.name === name)!.literals

  for (const role of roles) {
    const pod = () => find('Deployment', role).spec.template.spec
    const container = () => pod().containers[0]

    it(`gives ${role} every variable that has no default, and none that it does not read`, () => {
      const { read, required } = variablesOf(role)
      const fromMaps = (container().envFrom as { configMapRef: { name: string } }[]).flatMap(({ configMapRef }) =>
        literals(configMapRef.name).map((literal) => literal.split('=', 1)[0]!),
      )
      const names = [...(container().env as { name: string }[]).map(({ name }) => name), ...fromMaps]

      expect(names).to.include.members(required)
      expect(read).to.include.members(names)
    })

    it(`probes ${role} where it answers, on ports that it opens`, () => {
      const ports = container().ports as { name: string; containerPort: number }[]
      const probed = ports.find(({ name }) => name === container().readinessProbe.httpGet.port)
      expect(probed?.containerPort).to.equal(opsPorts[role])
      expect(container().readinessProbe.httpGet.path).to.equal('/readyz')
      expect(container().livenessProbe.httpGet.path).to.equal('/healthz')
      expect(container().args).to.deep.equal([...(mains[role].flags ?? []), mains[role].file])
    })

    it(`gives ${role} time to drain, a disruption budget, a range to scale in, and no more rights than it needs`, () => {
      expect(container().lifecycle.preStop.exec.command).to.deep.equal(['sleep', String(PRE_STOP_S)])
      expect(pod().terminationGracePeriodSeconds).to.be.at.least(PRE_STOP_S + STOP_LIMIT_S)
      expect(find('PodDisruptionBudget', role).spec.selector.matchLabels).to.deep.equal(
        find('Deployment', role).spec.selector.matchLabels,
      )
      expect(find('HorizontalPodAutoscaler', role).spec).to.deep.include({
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: role },
        minReplicas: 2,
      })
      expect(pod()).to.deep.include({ automountServiceAccountToken: false })
      expect(pod().securityContext.runAsNonRoot).to.equal(true)
      expect(container().securityContext).to.deep.equal({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    })
  }

  it('lets the gateway find each service under the name and port of its Service', () => {
    for (const role of roles.filter((name) => name !== 'gateway')) {
      const { urlVariable } = mains[role]
      expect(literals('gatehouse-gateway')).to.include(`${urlVariable}=http://${role}:${opsPorts[role]}`)
      expect(find('Service', role).spec.ports[0].port).to.equal(opsPorts[role])
    }
  })

  it('denies all traffic but what is named: services hear the gateway only, two services reach out', () => {
    const policies = base.filter(({ kind }) => kind === 'NetworkPolicy')
    expect(find('NetworkPolicy', 'default-deny').spec).to.deep.equal({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    })
    const reachOut = policies.filter(({ spec }) => JSON.stringify(spec.egress ?? '').includes('0.0.0.0/0'))
    expect(reachOut.map(({ metadata }) => metadata.name)).to.have.members([
      'identity-to-peers',
      'federation-fanout-to-peers',
    ])
    for (const role of roles.filter((name) => name !== 'gateway')) {
      const about = policies.filter(
        ({ spec }) => spec.ingress && spec.podSelector.matchLabels?.['app.kubernetes.io/component'] === role,
      )
      expect(about.map(({ spec }) => spec.ingress)).to.deep.equal([
        [
          {
            from: [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': 'gateway' } } }],
            ports: [{ port: opsPorts[role] }],
          },
        ],
      ])
    }
  })

  it('names every file of its folder, and the example brings every secret that a pod asks for', () => {
    const example = readKustomization('example')
    for (const file of kustomization.resources) expect(readText(`deploy/kubernetes/base/${file}`)).to.be.a('string')
    const brought = example.secretGenerator![0]!.files.map((file) => file.replace('secrets/', ''))
    const asked = base
      .filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
      .flatMap(({ spec }) => spec.template.spec.containers[0].env as { valueFrom: { secretKeyRef: { key: string } } }[])
      .map(({ valueFrom }) => valueFrom.secretKeyRef.key)
    expect(brought).to.have.members([...new Set(asked)])
  })
})
