import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { documentedCommand } from '@gatehouse/test-kit'
import { expect } from 'chai'
import ts from 'typescript'
import { parse, parseAllDocuments } from 'yaml'
import { projectRoot, readText } from './read-manifests.ts'

type Rendered = { apiVersion: string; kind: string; metadata: { name: string; namespace?: string; labels?: object } }

/** The module of the Kubernetes API's published schemas that has this kind. */
function moduleOf({ apiVersion, kind }: Rendered): string {
  return `kubernetes-models/${apiVersion}/${kind}`
}

/** The class of a kind: it validates by the schema. Throws where the API knows no such kind. */
async function validate(object: Rendered): Promise<void> {
  const { [object.kind]: Model } = (await import(moduleOf(object))) as Record<
    string,
    new (given: Rendered) => Validated
  >
  new Model!(object).validate()
}
type Validated = { validate(): void }

const compilerOptions: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts'],
  noEmit: true,
  skipLibCheck: true,
  strict: true,
  types: [],
}
const parsedFiles = new Map<string, ts.SourceFile | undefined>()

/** Parses each file once for all programs, except for `changing`. */
function rememberingHost(changing: string): ts.CompilerHost {
  const host = ts.createCompilerHost(compilerOptions)
  const parse = host.getSourceFile.bind(host)
  host.getSourceFile = (name, ...rest) => {
    if (name === changing) return parse(name, ...rest)
    if (!parsedFiles.has(name)) parsedFiles.set(name, parse(name, ...rest))
    return parsedFiles.get(name)
  }
  return host
}

/** Fields that the API does not know: a schema ignores them, and so would the API server. */
function listUnknownFields(objects: readonly Rendered[], folder: string): string[] {
  const lines = objects.map((object, index) => {
    const { kind } = object
    const type = `import type { I${kind} as Kind${index} } from '${moduleOf(object)}'`
    return `${type}\nexport const object${index}: Kind${index} = ${JSON.stringify(object)}`
  })
  const file = join(folder, 'objects.ts')
  writeFileSync(file, lines.join('\n'))
  const program = ts.createProgram([file], compilerOptions, rememberingHost(file))
  const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(file))
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

/** The files of a Kustomize folder as they stand, where kubectl is not there to render them. */
function readFiles(folder: string): Rendered[] {
  const { resources } = parse(readText(`${folder}/kustomization.yaml`)) as { resources: string[] }
  return resources
    .filter((resource) => resource.endsWith('.yaml'))
    .flatMap((file) => parseAllDocuments(readText(`${folder}/${file}`)).map((document) => document.toJS() as Rendered))
}

type Security = Record<string, unknown> & {
  capabilities?: { drop?: string[]; add?: string[] }
  seccompProfile?: { type?: string }
}
type Container = {
  name: string
  securityContext?: Security
  ports?: { hostPort?: number }[]
  resources?: { limits?: { memory?: string }; requests?: { cpu?: string; memory?: string } }
}
type PodSpec = Record<string, unknown> & {
  securityContext?: Security
  containers: Container[]
  initContainers?: Container[]
  volumes?: Record<string, unknown>[]
}
type Template = { metadata?: { labels?: Record<string, string> }; spec: PodSpec }
type Pod = { name: string; labels?: Record<string, string> | undefined; spec: PodSpec }

function podOf(object: Rendered): Pod[] {
  type Templated = { template?: Template }
  const { spec } = object as Rendered & { spec?: Templated & { jobTemplate?: { spec: Templated } } }
  const template = (spec?.jobTemplate?.spec ?? spec)?.template
  if (!template) return []
  return [{ name: `${object.kind} ${object.metadata.name}`, labels: template.metadata?.labels, spec: template.spec }]
}

const volumeKinds = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

const podRules: Record<string, (spec: PodSpec) => boolean> = {
  'no namespace of the host': (spec) => !['hostNetwork', 'hostPID', 'hostIPC'].some((name) => spec[name]),
  'no volume of the host': ({ volumes = [] }) =>
    volumes.every((volume) => Object.keys(volume).every((key) => key === 'name' || volumeKinds.includes(key))),
  'not root': ({ securityContext }) => securityContext?.['runAsNonRoot'] === true && securityContext['runAsUser'] !== 0,
  'seccomp of the runtime': ({ securityContext }) =>
    ['RuntimeDefault', 'Localhost'].includes(securityContext?.seccompProfile?.type ?? ''),
  'no token of the cluster': (spec) => spec['automountServiceAccountToken'] === false,
  'no other profile or sysctl': ({ securityContext = {} }) =>
    !['sysctls', 'seLinuxOptions', 'windowsOptions', 'appArmorProfile'].some((name) => name in securityContext),
}

const containerRules: Record<string, (container: Container) => boolean> = {
  'not privileged': ({ securityContext: given }) => !given?.['privileged'],
  'no escalation': ({ securityContext: given }) => given?.['allowPrivilegeEscalation'] === false,
  'no capability': ({ securityContext: given }) =>
    given?.capabilities?.drop?.includes('ALL') === true && (given.capabilities.add ?? []).length === 0,
  'a root that is read only': ({ securityContext: given }) => given?.['readOnlyRootFilesystem'] === true,
  'a user and profile of the pod': ({ securityContext: given = {} }) =>
    !['runAsUser', 'runAsNonRoot', 'seccompProfile', 'procMount'].some((name) => name in given),
  'no port of the host': ({ ports = [] }) => ports.every(({ hostPort }) => hostPort === undefined),
  'bounds of memory and a share of the CPU': ({ resources }) =>
    Boolean(resources?.limits?.memory && resources.requests?.memory && resources.requests.cpu),
}

function violationsOf({ name, spec }: Pod): string[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers]
  return [
    ...Object.entries(podRules).flatMap(([rule, keeps]) => (keeps(spec) ? [] : [`${name}: ${rule}`])),
    ...Object.entries(containerRules).flatMap(([rule, keeps]) =>
      containers.flatMap((container) => (keeps(container) ? [] : [`${name}, ${container.name}: ${rule}`])),
    ),
  ]
}

function hasKubectl(): boolean {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe('the Kubernetes manifests', function () {
  const base = 'deploy/kubernetes/base'
  const example = 'deploy/kubernetes/example'
  /** Those that the example names in a comment. */
  const optional = (): Rendered[] =>
    [...readText(`${example}/kustomization.yaml`).matchAll(/^  # - (\S+\.yaml)$/gm)].flatMap(([, file]) =>
      parseAllDocuments(readText(`${example}/${file}`)).map((document) => document.toJS() as Rendered),
    )
  let folder: string
  before(() => {
    // Below the project, so that the packages are found.
    folder = mkdtempSync(join(projectRoot, 'node_modules', '.kubernetes-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it("match the API's published schemas, and have no field that it does not know", async () => {
    const objects = [...readFiles(base), ...readFiles(example), ...optional()]
    for (const object of objects) await validate(object)
    expect(listUnknownFields(objects, folder)).to.deep.equal([])
  })

  it('are refused with a value of another type, and with a misspelt field', async () => {
    const [deployment] = readFiles(base).filter(({ kind }) => kind === 'Deployment') as (Rendered & { spec: object })[]
    const wrongType = { ...deployment!, spec: { ...deployment!.spec, replicas: 'two' } }
    const misspelt = { ...deployment!, spec: { ...deployment!.spec, replcas: 2 } }
    const refusal = await validate(wrongType).then(
      () => null,
      (err: Error) => err.message,
    )
    expect(refusal).to.include('replicas')
    expect(listUnknownFields([misspelt], folder).join()).to.include('replcas')
  })

  /** https://kubernetes.io/docs/concepts/security/pod-security-standards/, version 1.34, and what it leaves open. */
  it('keep the restricted profile of the Pod Security Standards, which the namespace enforces', () => {
    const pods = [...readFiles(base), ...optional()].flatMap(podOf)
    const [namespace] = readFiles(example).filter(({ kind }) => kind === 'Namespace')

    expect(pods.length).to.be.greaterThan(7)
    expect(pods.flatMap(violationsOf)).to.deep.equal([])
    // Of the example's own, by which the base's network policies find them.
    expect(
      optional()
        .flatMap(podOf)
        .map(({ labels }) => labels?.['app.kubernetes.io/name']),
    ).to.deep.equal(['gatehouse', 'gatehouse'])
    expect(namespace!.metadata.labels).to.include({ 'pod-security.kubernetes.io/enforce': 'restricted' })
  })

  it('would be refused with any of what the profile forbids', () => {
    const [pod] = readFiles(base).flatMap(podOf)
    const [container] = pod!.spec.containers
    const secured = container!.securityContext
    const withContainer = (change: object) => ({ ...pod!.spec, containers: [{ ...container!, ...change }] })
    const withSecurity = (change: object) => withContainer({ securityContext: { ...secured, ...change } })
    const specs: object[] = [
      ...['hostNetwork', 'hostPID', 'hostIPC'].map((name) => ({ ...pod!.spec, [name]: true })),
      { ...pod!.spec, volumes: [{ name: 'disk', hostPath: { path: '/' } }] },
      { ...pod!.spec, securityContext: { ...pod!.spec.securityContext, runAsNonRoot: false } },
      { ...pod!.spec, securityContext: { ...pod!.spec.securityContext, seccompProfile: { type: 'Unconfined' } } },
      { ...pod!.spec, automountServiceAccountToken: true },
      withSecurity({ privileged: true }),
      withSecurity({ allowPrivilegeEscalation: true }),
      withSecurity({ capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } }),
      withSecurity({ readOnlyRootFilesystem: false }),
      withSecurity({ runAsUser: 0 }),
      withSecurity({ procMount: 'Unmasked' }),
      withContainer({ ports: [{ hostPort: 80 }] }),
      withContainer({ resources: {} }),
    ]
    for (const spec of specs)
      expect(violationsOf({ name: 'x', spec: spec as PodSpec }), JSON.stringify(spec)).to.have.length(1)
  })

  it('render for the example, copied as kubernetes.md says, with the names of Secret and ConfigMaps in every reference', async function () {
    if (!hasKubectl()) {
      process.stdout.write('SKIPPED: kubectl is not on the PATH\n')
      this.skip()
    }
    const rendered = renderCopy()
    for (const object of rendered) await validate(object)
    expect(listUnknownFields(rendered, folder)).to.deep.equal([])
    const made = rendered
      .filter(({ kind }) => kind === 'Secret' || kind === 'ConfigMap')
      .map(({ metadata }) => metadata.name)
    const referred = JSON.stringify(rendered).matchAll(/"(?:secretKeyRef|configMapRef)":\{[^}]*"name":"([^"]+)"/g)
    // Optional: whoever has certificates makes it.
    const madeByOperators = 'gatehouse-tls'
    expect([...new Set([...referred].map(([, name]) => name))]).to.have.members([...made, madeByOperators])
    expect(JSON.stringify(rendered)).to.not.include('"image":"gatehouse"')
    // Kustomize adds labels to the selectors of a base, which the pods of further services do not have.
    const toUpstreams = rendered.find(({ metadata }) => metadata.name === 'gateway-to-upstreams')
    expect(JSON.stringify(toUpstreams)).to.include(
      '"podSelector":{"matchExpressions":[{"key":"gatehouse/upstream","operator":"In","values":["true"]}]}',
    )
    for (const { kind, metadata } of rendered)
      if (kind !== 'Namespace') expect(metadata.namespace).to.equal('gatehouse')
  })
})

/** The example as an operator renders it: copied beside the base, with secrets of its own. */
function renderCopy(): Rendered[] {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-kustomize-'))
  try {
    cpSync(resolve(projectRoot, 'deploy/kubernetes/base'), join(folder, 'base'), { recursive: true })
    cpSync(resolve(projectRoot, 'deploy/kubernetes/example'), join(folder, 'my-instance'), { recursive: true })
    execFileSync('sh', [resolve(projectRoot, 'deploy/make-secrets.sh'), join(folder, 'my-instance/secrets')])
    const withOptional = readText('deploy/kubernetes/example/kustomization.yaml').replaceAll('  # - ', '  - ')
    writeFileSync(join(folder, 'my-instance/kustomization.yaml'), withOptional)
    // What is applied to a cluster, without one.
    const command = documentedCommand('kubectl apply --kustomize deploy/kubernetes/my-instance', {
      'apply --kustomize': 'kustomize',
      'deploy/kubernetes': folder,
    })
    const [program = '', ...args] = command.split(' ')
    const text = execFileSync(program, args, { encoding: 'utf8' })
    return parseAllDocuments(text).map((document) => withoutLineBreaks(document.toJS() as Rendered))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Kustomize breaks the lines of long base64, which the API server reads and the schema's format does not. */
function withoutLineBreaks(object: Rendered & { data?: Record<string, string> }): Rendered {
  if (object.kind !== 'Secret' || !object.data) return object
  const data = Object.entries(object.data).map(([key, value]) => [key, value.replaceAll('\n', '')])
  return { ...object, data: Object.fromEntries(data) as Record<string, string> } as Rendered
}
