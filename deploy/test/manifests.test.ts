import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { serviceNames, services, urlVariable, variablePrefix } from '@gatehouse/contracts'
import { documentedCommand } from '@gatehouse/test-kit'
import { parse } from 'yaml'
import { stopLimitMs } from '../../libs/service-kit/src/policy.ts'
import { builtPrograms, testPrograms } from '../../tools/setup/build-programs.js'
import imageBuild from '../../tools/setup/rolldown.config.js'
import { entrypoints, roles, type Role } from '../cluster/roles.ts'
import {
  networksOf,
  projectRoot,
  readBase,
  readCompose,
  readKustomization,
  readText,
  variablesOf,
} from './read-manifests.ts'
import type { ComposeService, Manifest } from './read-manifests.ts'

const opsPorts = Object.fromEntries(roles.map((role) => [role, role === 'gateway' ? 9090 : services[role].port]))
const preStopSeconds = 5

/** What the image is given to run a service. */
const commandOf = (role: Role): string[] => [
  ...entrypoints[role].flags,
  entrypoints[role].file.replace(/\.ts$/, '.mjs'),
]
const stopLimitSeconds = stopLimitMs / 1000

/** The variable of docker-compose.yml for the number of a service's containers. */
const replicasVariable = (role: string): string => `${variablePrefix(role)}_REPLICAS`

/** Variables by the names that processes read: `X_FILE` stands for X. */
const withoutFileSuffix = (names: string[]): string[] => names.map((name) => name.replace(/_FILE$/, '')).sort()

const megabytes = (size: string): number => Number.parseInt(size, 10) * (/^\d+g/i.test(size) ? 1024 : 1)

type Limited = { name: string; resources?: { limits?: { memory?: string } } }
const memoryLimits = ({ spec }: Manifest): [string, number][] => {
  const { containers = [] } = (spec?.['template'] as { spec?: { containers?: Limited[] } } | undefined)?.spec ?? {}
  return containers.flatMap(({ name, resources }) =>
    resources?.limits?.memory ? [[name, megabytes(resources.limits.memory)] as [string, number]] : [],
  )
}

describe('env.example', () => {
  const named = [...readText('deploy/env.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name!)

  it('names every variable that a process reads, each once, and no others', () => {
    const read = new Set([...roles, 'embedded' as const].flatMap((role) => variablesOf(role).read))

    expect(named).to.have.members([
      ...read,
      'OPERATOR_SECRET',
      'PUBLISH',
      'EDGE_SUBNET',
      'BACKUPS',
      'NATS_CONF',
      ...roles.map(replicasVariable),
    ])
  })
})

describe('docker-compose.yml', () => {
  const compose = readCompose()
  const service = (name: string): ComposeService => compose.services[name]!

  for (const role of roles) {
    it(`gives ${role} every variable that has no default, and none that it does not read`, () => {
      const { read, required } = variablesOf(role)
      const names = withoutFileSuffix(Object.keys(service(role).environment!))

      expect(names).to.include.members(required)
      expect(read).to.include.members(names)
    })

    it(`runs ${role} from its entrypoint, and checks its health on its port`, () => {
      expect(service(role).command).to.deep.equal(commandOf(role))
      expect(existsSync(resolve(projectRoot, entrypoints[role].file))).to.equal(true)
      expect(service(role).healthcheck?.test).to.deep.equal([
        'CMD',
        'node',
        'deploy/healthcheck.mjs',
        String(opsPorts[role]),
      ])
    })

    it(`gives ${role} no capabilities, a read-only root, and time to stop`, () => {
      expect(service(role)).to.deep.include({ read_only: true, cap_drop: ['ALL'], stop_grace_period: '40s' })
      expect(service(role).security_opt).to.include('no-new-privileges:true')
      expect(stopLimitSeconds).to.be.greaterThan(0).and.lessThan(40)
    })
  }

  it('bounds the log of each container, and its memory as Kubernetes does', () => {
    const limits = new Map(readBase().flatMap(memoryLimits))
    for (const [name, { logging, mem_limit: memory }] of Object.entries(compose.services)) {
      expect(logging?.options, name).to.have.keys('max-size', 'max-file')
      expect(megabytes(memory!), name).to.be.at.least(limits.get(name) ?? 1)
    }
  })

  it('mounts every secret that a variable or a server names, and declares each', () => {
    const script = readText('deploy/make-secrets.sh')
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
      const name = file.replace('deploy/secrets/', '').replace(/^(nats_url|database_url)_.*/, '"$1_$$service"')
      expect(script).to.include(`keep ${name}`)
    }
  })

  it('publishes the port of the gateway only, and connects each service with what it uses and nothing else', () => {
    const open = Object.entries(compose.services).filter(([, { ports }]) => ports)
    expect(open.map(([name]) => name)).to.deep.equal(['gateway'])
    const outside = Object.entries(compose.services).filter(([, one]) => 'outside' in networksOf(one))
    expect(outside.map(([name]) => name)).to.have.members([
      'identity',
      'federation-fanout',
      'openid',
      'backup',
      'restore',
    ])
    const servers = { database: 'DATABASE_URL', bus: 'NATS_URL', cache: 'REDIS_URL' }
    for (const [network, variable] of Object.entries(servers)) {
      expect(compose.networks[network]).to.deep.equal({ internal: true })
      for (const role of roles) {
        expect(network in networksOf(service(role)), `${role} on ${network}`).to.equal(
          variablesOf(role).required.includes(variable),
        )
      }
    }
    expect(compose.networks.services).to.deep.equal({ internal: true })
  })

  it('gives backup and restore the schema of its owner and the uploads of identity, and nothing else', () => {
    for (const name of ['backup', 'restore']) {
      const { environment, secrets, networks, volumes } = service(name)
      const ofStore = Object.entries(service('identity').environment!).filter(([key]) => /^(UPLOAD|AWS)_/.test(key))
      expect(environment).to.deep.equal({
        DATABASE_URL_FILE: '/run/secrets/database_url',
        ...Object.fromEntries(ofStore),
      })
      expect(secrets).to.deep.equal([
        { source: 'migrate_database_url', target: 'database_url' },
        ...service('identity').secrets!.filter((secret) => String(secret).startsWith('aws_')),
      ])
      // The outside for an object store.
      expect(networks).to.deep.equal(['database', 'outside'])
      expect(volumes![0]).to.equal(service('identity').volumes![0])
    }
  })

  it('gives encrypt the schema of its owner and the secrets that encrypt, and nothing else', () => {
    const { environment, secrets, networks, volumes, entrypoint } = service('encrypt')
    const names = ['encryption_secret', 'encryption_secret_previous']
    expect(entrypoint).to.deep.equal(['gatehouse', 'encrypt'])
    expect(environment).to.deep.equal({
      DATABASE_URL_FILE: '/run/secrets/database_url',
      ...Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_FILE`, `/run/secrets/${name}`])),
    })
    expect(secrets).to.deep.equal([{ source: 'migrate_database_url', target: 'database_url' }, ...names])
    expect([networks, volumes]).to.deep.equal([['database'], []])
  })

  it('publishes the gateway on this machine alone: a proxy there is believed, and clients of IPv6 would have its address', () => {
    const published = Object.entries(compose.services).filter(([, { ports = [] }]) => ports.length > 0)

    expect(published.map(([name, { ports }]) => [name, ports])).to.deep.equal([
      ['gateway', ['${PUBLISH:-127.0.0.1:8080}:8080']],
    ])
    expect(readText('deploy/env.example')).to.match(/^PUBLISH=127\.0\.0\.1:8080$/m)
  })

  it('labels for SELinux what containers get of the machine, and make-secrets.sh labels the secrets', async () => {
    const mounts = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes)
    const ofMachine = mounts.filter((mount) => /^[.$]/.test(mount))
    await using folder = await mkdtempDisposable(join(tmpdir(), 'selinux-'))
    const secrets = join(folder.path, 'secrets')
    const labels = async (isOn: boolean) => {
      const programs = { selinuxenabled: isOn ? 'exit 0' : 'exit 1', chcon: `echo "$@" >> ${folder.path}/labels` }
      for (const [name, text] of Object.entries(programs)) {
        await writeFile(join(folder.path, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
      }
      const env = { ...process.env, PATH: `${folder.path}:${process.env['PATH']}` }
      execFileSync('sh', [resolve(projectRoot, 'deploy/make-secrets.sh'), secrets], { env })
      return await readFile(join(folder.path, 'labels'), 'utf8').catch(() => '')
    }

    expect(ofMachine).to.have.length(6)
    expect(ofMachine.filter((mount) => !/:(ro,)?z$/.test(mount))).to.deep.equal([])
    expect([await labels(false), await labels(true)]).to.deep.equal(['', `-R -t container_file_t ${secrets}\n`])
  })

  it('gives the gateway no way out, and its port a subnet whose first address a proxy on the machine has', () => {
    expect(compose.networks.edge?.driver_opts).to.deep.equal({
      'com.docker.network.bridge.enable_ip_masquerade': 'false',
    })
    expect(compose.networks.edge?.ipam?.config[0]?.subnet).to.match(/^\$\{EDGE_SUBNET:-10\.203\.141\.0\/28\}$/)
    expect(readText('deploy/env.example')).to.match(/^EDGE_SUBNET=10\.203\.141\.0\/28$/m)
    for (const file of ['deploy/env.example', 'docs/operate/docker-compose.md'])
      expect(readText(file)).to.include('10.203.141.1')
    expect(Object.keys(networksOf(service('gateway')))).to.not.include('outside')
  })

  it('leads the gateway to all containers of a service by one name, which is known on one network only', () => {
    for (const role of serviceNames) {
      const { services, ...others } = networksOf(service(role))
      expect(services).to.deep.equal([`${role}-http`])
      expect(Object.values(others).flat()).to.deep.equal([])
      expect(service('gateway').environment).to.include({
        [urlVariable(role)]: `http://${role}-http:${opsPorts[role]}`,
      })
    }
  })

  it('takes the number of containers from .env, so that a later `up` keeps it', () => {
    for (const role of roles) expect(service(role).scale).to.equal(`\${${replicasVariable(role)}:-1}`)
  })

  it('waits a second for a lost DNS packet, and not five', () => {
    for (const role of roles) expect(service(role).dns_opt).to.deep.equal(['timeout:1', 'attempts:3'])
  })

  it('starts services after the migration, and when the servers that they use are healthy', () => {
    const servers = { DATABASE_URL: 'postgres', NATS_URL: 'nats', REDIS_URL: 'redis' }
    for (const role of serviceNames) {
      const used = Object.entries(servers).filter(([variable]) => variablesOf(role).required.includes(variable))
      expect(service(role).depends_on).to.deep.equal({
        migrate: { condition: 'service_completed_successfully' },
        ...Object.fromEntries(used.map(([, server]) => [server, { condition: 'service_healthy' }])),
      })
    }
    expect(service('gateway').depends_on).to.include.all.keys(...roles.filter((name) => name !== 'gateway'))
    for (const name of ['postgres', 'nats', 'redis']) expect(service(name).healthcheck?.test).to.be.an('array')
  })
})

describe('the scripts and nats.conf', () => {
  it('name every service', () => {
    const users = [...readText('deploy/nats/nats.conf').matchAll(/ user: ([\w-]+), password: \$([A-Z_]+)$/gm)]
    const listed = (script: string) => {
      const [line] = /^services=.*$/m.exec(readText(script))!
      return execFileSync('sh', ['-euc', `${line}\necho $services`, script], { encoding: 'utf8' })
        .trim()
        .split(' ')
    }

    expect(users.map(([, name, variable]) => [name, variable])).to.have.deep.members(
      roles.map((role) => [role, `${variablePrefix(role)}_PASSWORD`]),
    )
    expect(listed('deploy/make-secrets.sh')).to.deep.equal(serviceNames)
    expect(listed('deploy/roll.sh')).to.deep.equal(serviceNames)
  })

  it('roll each container, leave out a service that has none, and start a gateway where none runs', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'gatehouse-roll-'))
    const docker = `#!/bin/sh
      echo "$*" >>"$CALLS"
      case "$*" in
      'compose ps --quiet identity') printf 'one\\ntwo\\n' ;;
      'compose ps --quiet gateway') printf '%s' "$GATEWAY" ;;
      esac`
    await writeFile(join(folder.path, 'docker'), docker, { mode: 0o755 })
    await writeFile(join(folder.path, 'sleep'), '#!/bin/sh\n', { mode: 0o755 })
    const roll = async (GATEWAY: string) => {
      const CALLS = join(folder.path, `calls${GATEWAY}`)
      const env = { PATH: `${folder.path}:${process.env['PATH'] ?? ''}`, CALLS, GATEWAY }
      const [program = '', ...args] = documentedCommand('sh deploy/roll.sh').split(' ')
      const output = execFileSync(program, args, { cwd: projectRoot, env, encoding: 'utf8' })
      const calls = [...(await readFile(CALLS, 'utf8')).matchAll(/--scale (\S+)|--wait (gateway)$|^stop .* (\S+)$/gm)]
      return { output, calls: calls.map(([, scale, plain, stopped]) => scale ?? plain ?? stopped) }
    }

    const rolled = await roll('three')
    const started = await roll('')

    expect(rolled.calls).to.deep.equal(['identity=4', 'one', 'two', 'three', 'gateway=1'])
    expect(started.calls).to.deep.equal(['identity=4', 'one', 'two', 'gateway'])
    expect(rolled.output)
      .to.match(/no container of invite is running/)
      .and.not.match(/of (identity|gateway) runs/)
  })
})

describe('the Dockerfile', () => {
  const text = readText('deploy/Dockerfile')

  it('holds what tools/release/image-files.ts writes, every entrypoint among it, and nothing else', () => {
    expect(text.match(/^COPY --from.*/gm)).to.deep.equal([
      'COPY --from=build /app/.gatehouse/image/runtime /',
      'COPY --from=build /app/.gatehouse/image/app /',
      'COPY --from=build --chown=10001:10001 /app/.gatehouse/image/data /data',
    ])
    expect(readText('deploy/cli/gatehouse.sh')).to.include(' /app/deploy/cli/main.mjs ')
    expect(builtPrograms).to.include.members(roles.map((role) => entrypoints[role].file))
    expect(builtPrograms).to.include.members(['deploy/migrate.ts', 'deploy/healthcheck.ts', 'deploy/cli/main.ts'])
    // What tools/release/image-files.ts builds has no program of tests, which hash at a lower cost.
    const built = Object.values(imageBuild.input as Record<string, string>)
    expect(built).to.have.members(builtPrograms.map((file) => join(projectRoot, file)))
    expect(builtPrograms).to.not.include.members(testPrograms)
  })

  it('declares no volume, which would be a writable folder in every container', () => {
    expect(text).to.not.match(/^VOLUME/m)
  })

  it('runs as a user that is not root', () => {
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

    it(`probes ${role} on a port that it opens`, () => {
      const ports = container().ports as { name: string; containerPort: number }[]
      const probed = ports.find(({ name }) => name === container().readinessProbe.httpGet.port)
      expect(probed?.containerPort).to.equal(opsPorts[role])
      expect(container().readinessProbe.httpGet.path).to.equal('/readyz')
      expect(container().livenessProbe.httpGet.path).to.equal('/healthz')
      expect(container().args).to.deep.equal(commandOf(role))
    })

    it(`gives ${role} time to drain, a disruption budget, an autoscaler, and no privileges`, () => {
      expect(container().lifecycle.preStop.exec.command).to.deep.equal(['sleep', String(preStopSeconds)])
      expect(pod().terminationGracePeriodSeconds).to.be.at.least(preStopSeconds + stopLimitSeconds)
      expect(find('PodDisruptionBudget', role).spec.selector.matchLabels).to.deep.equal(
        find('Deployment', role).spec.selector.matchLabels,
      )
      expect(find('HorizontalPodAutoscaler', role).spec).to.deep.include({
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: role },
        minReplicas: 2,
      })
      expect(find('Deployment', role).spec, 'the autoscaler decides').to.not.have.property('replicas')
      expect(find('Deployment', role).spec.strategy.rollingUpdate).to.deep.equal({ maxUnavailable: 0, maxSurge: 1 })
      expect(pod()).to.deep.include({ automountServiceAccountToken: false })
      expect(pod().securityContext.fsGroupChangePolicy).to.equal('OnRootMismatch')
      expect(pod().dnsConfig.options).to.deep.include.members([
        { name: 'timeout', value: '1' },
        { name: 'attempts', value: '3' },
      ])
      expect(pod().securityContext.runAsNonRoot).to.equal(true)
      expect(container().securityContext).to.deep.equal({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    })
  }

  it('gives the gateway the URL of each Service', () => {
    for (const role of serviceNames) {
      expect(literals('gatehouse-gateway')).to.include(`${urlVariable(role)}=http://${role}:${opsPorts[role]}`)
      expect(find('Service', role).spec.ports[0].port).to.equal(opsPorts[role])
    }
  })

  it('resolves a service to the addresses of its pods, and the gateway to one address', () => {
    for (const role of serviceNames) {
      // A headless Service maps no ports: the port of the URL is the container's.
      expect(find('Service', role).spec).to.include({ clusterIP: 'None' })
      const [{ containerPort }] = find('Deployment', role).spec.template.spec.containers[0].ports
      expect(containerPort).to.equal(find('Service', role).spec.ports[0].port)
    }
    expect(find('Service', 'gateway').spec).to.not.have.property('clusterIP')
  })

  it('denies all traffic by default: services accept connections of the gateway only, three have outbound access', () => {
    const policies = base.filter(({ kind }) => kind === 'NetworkPolicy')
    expect(find('NetworkPolicy', 'default-deny').spec).to.deep.equal({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    })
    const outbound = policies.filter(({ spec }) => JSON.stringify(spec.egress ?? '').includes('0.0.0.0/0'))
    expect(outbound.map(({ metadata }) => metadata.name)).to.have.members([
      'identity-to-peers',
      'federation-fanout-to-peers',
      'openid-to-applications',
    ])
    for (const role of serviceNames) {
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

  it('names every file of its folder, and the example generates every secret that a pod refers to', () => {
    const example = readKustomization('example')
    for (const file of kustomization.resources) expect(readText(`deploy/kubernetes/base/${file}`)).to.be.a('string')
    const generated = example.secretGenerator![0]!.files.map((file) => file.replace('secrets/', ''))
    type Reference = { name: string; key: string; optional?: boolean }
    type Volume = { secret?: { items: { key: string }[] } }
    const workloads = base.filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
    const mounted = workloads
      .flatMap(({ spec }) => (spec.template.spec.volumes ?? []) as Volume[])
      .flatMap(({ secret }) => secret?.items.map(({ key }) => key) ?? [])
    const referred = workloads
      .flatMap(({ spec }) => spec.template.spec.containers[0].env as { valueFrom: { secretKeyRef: Reference } }[])
      .map(({ valueFrom }) => valueFrom.secretKeyRef)
    const [own, ofOperator] = ['gatehouse', 'gatehouse-tls'].map((name) => referred.filter((one) => one.name === name))
    expect(mounted).to.deep.equal(['identity_providers'])
    expect(generated).to.have.members([...new Set(own!.map(({ key }) => key)), ...mounted])
    // Certificates of the operator's own servers, where they ask for TLS.
    expect(ofOperator!.every(({ optional }) => optional)).to.equal(true)
    expect(own!.length + ofOperator!.length).to.equal(referred.length)
  })
})

describe('the Kubernetes example', () => {
  const example = readKustomization('example')

  it('lets only the ingress controller reach the gateway, and believes addresses from its small range only', () => {
    const { patch } = example.patches!.find(({ target }) => target.name === 'anyone-to-gateway')!
    const [operation] = parse(patch) as { op: string; path: string; value: object[] }[]
    const trusted = example.configMapGenerator
      .flatMap(({ literals }) => literals)
      .find((one) => /^TRUST_PROXY=/.test(one))
    const [, bits] = /^TRUST_PROXY=[\d.]+\/(\d+)$/.exec(trusted!)!

    expect(operation).to.deep.include({ op: 'add', path: '/spec/ingress/0/from' })
    expect(operation!.value).to.deep.equal([
      {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } },
        podSelector: { matchLabels: { 'app.kubernetes.io/component': 'controller' } },
      },
    ])
    expect(Number(bits)).to.be.at.least(24)
  })

  it('names the class of its ingress', () => {
    expect(readText('deploy/kubernetes/example/ingress.yaml')).to.match(/^ {2}ingressClassName: \S+$/m)
  })

  it('is copied beside the base, where its secrets are ignored by git', () => {
    const guide = readText('docs/operate/kubernetes.md')
    expect(guide).to.include('cp -r deploy/kubernetes/example deploy/kubernetes/my-instance')
    expect(guide).to.include('sh deploy/make-secrets.sh deploy/kubernetes/my-instance/secrets')
    expect(example.resources[0]).to.equal('../base')
    expect(readText('.gitignore').split('\n')).to.include.members(['secrets/', '.env'])
  })
})
