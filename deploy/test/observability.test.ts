import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { parse } from 'yaml'
import { services } from '@gatehouse/contracts'
import { roles } from '../cluster/roles.ts'
import { networksOf, projectRoot, readCompose, readText } from './read-manifests.ts'

type Rules = { groups: { rules: { alert: string; expr: string }[] }[] }
type Dashboard = { panels: { title: string; targets: { expr: string }[] }[] }

/** Every metric that the code defines, and those of the runtime. */
function listMetrics(): Set<string> {
  const files = globSync(
    [
      'gateway/src/**/*.ts',
      'services/{identity,invite,session-gateway,federation-fanout,openid}/src/**/*.ts',
      'libs/*/src/**/*.ts',
    ],
    { cwd: projectRoot },
  )
  const named = files.flatMap((file) => {
    const text = readFileSync(resolve(projectRoot, file), 'utf8')
    return [
      ...text.matchAll(/(?:\b(?:counter|gauge|labeledGauge|rowsGauge|histogram)\(\s*|name: )'(gatehouse_\w+)'/g),
    ].map(([, name]) => name!)
  })
  const runtime = new Registry()
  collectDefaultMetrics({ register: runtime })
  return new Set([...named, ...runtime.getMetricsAsArray().map(({ name }) => name), 'up'])
}

function namesIn(expression: string): string[] {
  const names = expression.match(/\b(gatehouse|nodejs|process)_\w+|\bup\b/g) ?? []
  return names.map((name) => name.replace(/_(bucket|sum|count)$/, ''))
}

describe('the dashboard and the alert rules', () => {
  const metrics = listMetrics()
  const alerts = (parse(readText('deploy/observability/alerts.yml')) as Rules).groups.flatMap(({ rules }) => rules)
  const dashboard = JSON.parse(readText('deploy/observability/dashboard.json')) as Dashboard

  it('use only metrics that exist', () => {
    const expressions = [
      ...alerts.map(({ expr }) => expr),
      ...dashboard.panels.flatMap((panel) => panel.targets.map(({ expr }) => expr)),
    ]
    for (const expression of expressions) {
      expect(namesIn(expression), expression).to.not.be.empty
      for (const name of namesIn(expression)) expect(metrics.has(name), `${name} in ${expression}`).to.equal(true)
    }
  })

  it('show every metric of the gateway and the services', () => {
    const shown = new Set(dashboard.panels.flatMap((panel) => panel.targets.flatMap(({ expr }) => namesIn(expr))))
    // Per service; the gateway's histogram has the same requests, measured from outside.
    const notShown = ['gatehouse_http_request_seconds']
    const own = [...metrics].filter((name) => name.startsWith('gatehouse_') && !notShown.includes(name))
    expect([...shown]).to.include.members(own)
  })

  it('find the jobs that the scrape configuration names: each process at the port of its metrics', () => {
    type Scraped = { job_name: string; dns_sd_configs: [{ names: string[]; port: number }] }
    const { scrape_configs } = parse(readText('deploy/observability/prometheus.yml')) as { scrape_configs: Scraped[] }
    const compose = readCompose().services
    const scraped = scrape_configs.map(({ job_name, dns_sd_configs: [{ names, port }] }) => [job_name, names[0], port])
    const expected = roles.map((role) => {
      const [alias = role] = Object.values(networksOf(compose[role]!)).flat()
      return [`gatehouse-${role}`, alias, role === 'gateway' ? 9090 : services[role].port]
    })
    expect(scraped).to.have.deep.members(expected)
  })

  it('tell of a service of which no process is scraped', () => {
    const { expr } = alerts.find(({ alert }) => alert === 'GatehouseServiceNotScraped')!
    expect(expr).to.match(new RegExp(`up\\{job=~"gatehouse-\\.\\+"\\}\\)\\) < ${roles.length}$`))
  })

  it('say of each dependency that is not down with its server what is wrong', () => {
    const { expr } = alerts.find(({ alert }) => alert === 'GatehouseDependencyDown')!
    const excepted = /dependency!~"([^"]+)"/.exec(expr)![1]!.split('|')
    for (const dependency of excepted) {
      const own = alerts.filter((other) => other.expr.includes(`dependency="${dependency}"`))
      expect(own, dependency).to.have.length(1)
    }
    expect(excepted).to.deep.equal(['postgres_writes', 'nats_streams'])
  })

  it('have one section of the runbook for each alert', () => {
    const sections = [...readText('docs/operate/runbook.md').matchAll(/^## (Gatehouse\w+)$/gm)].map(([, name]) => name)
    expect(sections).to.have.members(alerts.map(({ alert }) => alert))
  })
})

describe('the documents', () => {
  it('link to files that exist', () => {
    for (const file of globSync('docs/**/*.md', { cwd: projectRoot })) {
      for (const [, target] of readText(file).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
        const path = resolve(projectRoot, file, '..', target!)
        expect(globSync(path), `${file} -> ${target}`).to.have.length(1)
      }
    }
  })
})
