import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse, parseAllDocuments } from 'yaml'
import { version } from '@gatehouse/runtime'
import { documentedCommand } from '@gatehouse/test-kit'
import { openHelm } from './helm.ts'
import { projectRoot, readText, type Manifest } from './read-manifests.ts'

const chart = join(projectRoot, 'deploy/helm/gatehouse')
const required = { image: { repository: 'gatehouse' }, settings: { PUBLIC_ORIGIN: 'https://chat.example' } }

const sorted = (objects: readonly Manifest[]): Manifest[] =>
  objects.toSorted((a, b) => (`${a.kind}/${a.metadata.name}` < `${b.kind}/${b.metadata.name}` ? -1 : 1))

/** As kubectl renders it, with the names that ConfigMaps have in the chart. */
function renderBase(): Manifest[] {
  const text = execFileSync('kubectl', ['kustomize', join(projectRoot, 'deploy/kubernetes/base')], { encoding: 'utf8' })
  const suffixes = [...text.matchAll(/^ {2}name: (gatehouse\S*)(-[0-9a-z]{10})$/gm)]
  const named = suffixes.reduce((all, [, name, suffix]) => all.replaceAll(`${name}${suffix}`, String(name)), text)
  return parseAllDocuments(named).map((document) => document.toJS() as Manifest)
}

const additions = ['app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', 'annotations', 'imagePullPolicy']

/** Without what the chart adds: labels of the release, the hook, the sum of the settings, and the policy of pulling. */
function withoutAdditions(object: Manifest): Manifest {
  const drop = (key: string, value: unknown): unknown => {
    if (additions.includes(key)) return undefined
    return key === 'image' ? String(value).replace(`:${version}`, '') : value
  }
  return JSON.parse(JSON.stringify(object, drop)) as Manifest
}

describe('the Helm chart', () => {
  let helm: Awaited<ReturnType<typeof openHelm>>
  const render = (values: object): Promise<Manifest[]> => helm.render(chart, values)
  const find = (objects: readonly Manifest[], kind: string, name: string): Manifest | undefined =>
    objects.find((object) => object.kind === kind && object.metadata.name === name)
  before(async () => void (helm = await openHelm()))
  after(() => helm[Symbol.asyncDispose]())

  it('has the version of the release', () => {
    expect(parse(readText('deploy/helm/gatehouse/Chart.yaml'))).to.deep.include({ version, appVersion: version })
  })

  it('is the Kustomize base: the same objects, containers, variables, probes, contexts, policies and budgets', async () => {
    const objects = await render(required)

    expect(sorted(objects.map(withoutAdditions))).to.deep.equal(sorted(renderBase().map(withoutAdditions)))
  })

  it('is installed by the command of kubernetes.md, which names an image and the address of the instance', async () => {
    const [, ...args] = documentedCommand(
      'helm --namespace gatehouse install gatehouse deploy/helm/gatehouse --set image.repository=registry.example/gatehouse --set settings.PUBLIC_ORIGIN=https://chat.example',
      { install: 'template', 'registry.example/gatehouse': 'gatehouse' },
    ).split(' ')

    expect(await helm.template(args)).to.deep.equal(await render(required))
  })

  it('migrates before the pods of a release, and replaces pods when a setting changes', async () => {
    const [before, after] = [
      await render(required),
      await render({ ...required, settings: { ...required.settings, LOG_LEVEL: 'debug' } }),
    ]
    const sumOf = (objects: Manifest[]): unknown =>
      find(objects, 'Deployment', 'invite')!.spec.template.metadata.annotations

    expect(find(before, 'Job', 'migrate')!.metadata).to.have.nested.property(
      'annotations.helm\\.sh/hook',
      'pre-install,pre-upgrade',
    )
    expect(sumOf(before)).to.not.deep.equal(sumOf(after))
  })

  it('carries every value to where it belongs', async () => {
    const from = [{ podSelector: { matchLabels: { app: 'proxy' } } }]
    const egress = [{ to: [{ ipBlock: { cidr: '192.0.2.7/32' } }], ports: [{ port: 5432 }] }]
    const resources = { requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '2Gi' } }
    const objects = await render({
      image: {
        repository: 'registry.example/gatehouse',
        digest: 'sha256:abc',
        pullPolicy: 'Always',
        pullSecrets: ['pull'],
      },
      settings: { ...required.settings, REGISTRATION_OPEN: false, TRUST_PROXY: '10.0.0.0/28' },
      secrets: { name: 'own', tls: 'own-tls' },
      services: { identity: { minReplicas: 3, maxReplicas: 30, resources } },
      uploads: { size: '5Gi', storageClass: 'shared' },
      ingress: { enabled: true, className: 'traefik', tlsSecret: 'certificate', annotations: { one: 'two' } },
      networkPolicies: { serversNamespace: 'data', egress, gatewayFrom: from },
      metrics: { namespace: 'watching', podMonitor: true },
      overrides: { 'Deployment/identity': { spec: { template: { spec: { nodeSelector: { disk: 'ssd' } } } } } },
    })
    const pod = find(objects, 'Deployment', 'identity')!.spec.template.spec
    const [container] = pod.containers

    expect(pod).to.deep.include({ imagePullSecrets: [{ name: 'pull' }], nodeSelector: { disk: 'ssd' } })
    expect(container).to.deep.include({
      image: 'registry.example/gatehouse@sha256:abc',
      imagePullPolicy: 'Always',
      resources,
    })
    const secrets = new Set(JSON.stringify(objects).match(/(?<="secretKeyRef":\{[^}]*"name":")[^"]+/g))
    expect([...secrets]).to.have.members(['own', 'own-tls'])
    expect(find(objects, 'ConfigMap', 'gatehouse-identity')).to.have.nested.property('data.REGISTRATION_OPEN', 'false')
    expect(find(objects, 'ConfigMap', 'gatehouse-gateway')).to.have.nested.property('data.TRUST_PROXY', '10.0.0.0/28')
    expect(find(objects, 'HorizontalPodAutoscaler', 'identity')!.spec).to.deep.include({
      minReplicas: 3,
      maxReplicas: 30,
    })
    expect(find(objects, 'PersistentVolumeClaim', 'gatehouse-uploads')!.spec).to.deep.include({
      storageClassName: 'shared',
      resources: { requests: { storage: '5Gi' } },
    })
    const servers = find(objects, 'NetworkPolicy', 'names-and-servers')!.spec.egress
    expect(servers).to.have.length(3)
    expect(JSON.stringify(servers[1].to)).to.include('"kubernetes.io/metadata.name":"data"')
    expect(servers[2]).to.deep.equal(egress[0])
    expect(find(objects, 'NetworkPolicy', 'anyone-to-gateway')!.spec.ingress).to.deep.equal([
      { from, ports: [{ port: 8080 }] },
    ])
    expect(JSON.stringify(find(objects, 'NetworkPolicy', 'metrics')!.spec)).to.include('"watching"')
    expect(find(objects, 'PodMonitor', 'gatehouse')).to.be.an('object')
    const ingress = find(objects, 'Ingress', 'gatehouse')!
    expect(ingress.metadata).to.deep.include({ annotations: { one: 'two' } })
    expect(ingress.spec).to.deep.include({
      ingressClassName: 'traefik',
      tls: [{ hosts: ['chat.example'], secretName: 'certificate' }],
    })
    expect(ingress.spec.rules[0].host).to.equal('chat.example')
  })

  it('leaves out what an installation does not want', async () => {
    const objects = await render({ ...required, uploads: { volume: false }, networkPolicies: { enabled: false } })

    expect(objects.filter(({ kind }) => ['NetworkPolicy', 'PersistentVolumeClaim'].includes(kind))).to.deep.equal([])
    expect(JSON.stringify(objects)).to.not.include('persistentVolumeClaim')
    const claimed = await render({ ...required, uploads: { existingClaim: 'there' } })
    expect(JSON.stringify(claimed)).to.include('"persistentVolumeClaim":{"claimName":"there"}')
    expect(find(claimed, 'PersistentVolumeClaim', 'gatehouse-uploads')).to.equal(undefined)
  })

  it('is refused without an image or the address of the instance, and with a setting that no process reads', async () => {
    const refusalOf = (values: object) =>
      render(values).then(
        () => 'none',
        (err: unknown) => (err as { stderr: string }).stderr,
      )

    expect(await refusalOf({ ...required, image: {} })).to.include('image.repository is required')
    expect(await refusalOf({ ...required, settings: {} })).to.include('settings.PUBLIC_ORIGIN is required')
    const misspelt = { ...required.settings, PUBLIC_ORIGN: 'x' }
    expect(await refusalOf({ ...required, settings: misspelt })).to.include('settings.PUBLIC_ORIGN is no setting')
  })
})
