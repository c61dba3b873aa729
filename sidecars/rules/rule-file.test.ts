import { describe, expect, it } from 'vitest'
import fc from '../testing/fast-check.ts'
import { exampleWords } from './example-words.ts'
import { commandRuleText, hostRuleText, quote, ruleWords } from './rule-text.ts'
import { parseRuleFile, parseSingleRule } from './rule-file.ts'

const parse = (text: string) => parseRuleFile('t.rules', text)
const problems = (text: string) => parse(text).problems.map((p) => `${p.line}: ${p.message}`)

describe('parseRuleFile', () => {
  it('reads the three calls with comments, alternatives and named arguments', () => {
    const file = parse(`# mine
prefix_rule(
    pattern = ["git", ["status", "log"]],  # reading
    decision = "allow",
    justification = 'reads only',
    match = ["git status", ["git", "log", "-1"]],
    not_match = ["git push", 'git "sta tus"'],
)
prefix_rule(["rm", "-rf"], "forbidden"); prefix_rule(pattern=["ls"])
host_executable(name="git", paths=["/usr/bin/git", "/opt/git/git",])
network_rule(host="API.Example.", protocol="https", decision="allow")
network_rule(host="**.bücher.example", port=8443, decision="deny", justification="no")
`)
    expect(file.problems).toEqual([])
    expect(
      file.rules.map((r) =>
        r.kind === 'command'
          ? { at: r.place?.line, effect: r.effect, pattern: r.pattern }
          : { at: r.place?.line, effect: r.effect, host: r.host, port: r.port, protocol: r.protocol },
      ),
    ).toEqual([
      { at: 2, effect: 'allow', pattern: [['git'], ['status', 'log']] },
      { at: 9, effect: 'deny', pattern: [['rm'], ['-rf']] },
      { at: 9, effect: 'allow', pattern: [['ls']] },
      { at: 11, effect: 'allow', host: { kind: 'exact', host: 'api.example' }, port: undefined, protocol: 'https' },
      {
        at: 12,
        effect: 'deny',
        host: { kind: 'within', host: 'xn--bcher-kva.example' },
        port: 8443,
        protocol: undefined,
      },
    ])
    expect(file.rules[0]).toMatchObject({ justification: 'reads only' })
    expect(file.executables).toEqual([
      { name: 'git', paths: ['/usr/bin/git', '/opt/git/git'], place: { file: 't.rules', line: 10 } },
    ])
  })

  it('reads the lines that the Codex CLI appends', () => {
    expect(
      problems(`prefix_rule(pattern=["mkdir", "-p"], decision="allow")
network_rule(host="example.test", protocol="http", decision="allow", justification="Allow http access to example.test")
network_rule(host="example.test", protocol="https_connect", decision="prompt")
`),
    ).toEqual([])
  })

  it.each([
    ['deny  rm -rf (', '1: only calls with literal arguments are read here; found "rm" after "deny"'],
    ['x = ["a"]', '1: only calls with literal arguments are read here; found "=" after "x"'],
    ['for a in b:\n  pass', '1: only calls with literal arguments are read here; found "a" after "for"'],
    ['prefix_rule(pattern=words)', '1: "words" is not a literal; only strings, numbers and lists are read here'],
    ['prefix_rule(pattern=["a" "b"])', '1: two strings stand side by side; a comma is missing'],
    ['prefix_rule(pattern=["a" + "b"])', '1: unexpected "+"'],
    ['prefix_rule(pattern=["a"]', '1: the call of prefix_rule is not closed; a ")" is missing'],
    ['\n\nprefix_rule(pattern=["a)\n', '3: a string is not ended in its line'],
    ['load("x.star")', '1: load is unknown; prefix_rule, host_executable and network_rule are read'],
    ['prefix_rule(decision="allow")', '1: prefix_rule needs the argument pattern'],
    ['prefix_rule(pattern=[])', '1: pattern: expected at least one word'],
    ['prefix_rule(pattern=["a", []])', '1: pattern: a list of alternatives is empty'],
    ['prefix_rule(pattern=[""])', '1: pattern: the program is empty'],
    ['prefix_rule(pattern="git")', '1: pattern: expected a list'],
    ['prefix_rule(pattern=[1])', '1: pattern: expected a string'],
    [
      'prefix_rule(pattern=["a"], decision="deny")',
      '1: decision: expected "allow" or "prompt" or "forbidden", found "deny"',
    ],
    ['prefix_rule(pattern=["a"], colour="red")', '1: prefix_rule has no argument colour'],
    ['prefix_rule(["a"], pattern=["b"])', '1: the argument pattern is given twice'],
    ['prefix_rule(pattern=["a"], justification=" ")', '1: justification: expected a text that says something'],
    ['prefix_rule(pattern=["a"],\n match=["b"])', '2: match: the example "b" does not match the pattern'],
    ['prefix_rule(pattern=["a"], not_match=[["a", "b"]])', '1: not_match: the example "a b" matches the pattern'],
    ['prefix_rule(pattern=["a"], match=["a \'"])', '1: match: an example has a quote that is not closed'],
    ['network_rule(host="a.test")', '1: network_rule needs the argument decision'],
    [
      'network_rule(host="http://a.test", decision="allow")',
      '1: host: "http://a.test": a pattern is a host, not a URL; write the host without the scheme',
    ],
    [
      'network_rule(host="a.test:80", port=81, decision="allow")',
      '1: host: "a.test:80": the pattern names port 80 and the rule port 81; keep one of them',
    ],
    ['network_rule(host="a.test", port="80", decision="allow")', '1: port: expected a number from 1 to 65535'],
    [
      'network_rule(host="a.test", protocol="gopher", decision="allow")',
      '1: protocol: expected one of http, https, https_connect, http-connect, socks5_tcp, socks5_udp, websocket',
    ],
    ['host_executable(name="git", paths=["git"])', '1: paths: "git" is not absolute'],
    ['host_executable(name="git", paths=["/bin/got"])', '1: paths: the last part of "/bin/got" is not "git"'],
  ])('refuses %j', (text, problem) => {
    const [first] = problems(text)
    expect(first).toContain(problem)
    expect(parse(text).rules).toEqual([])
  })

  it('P10 refuses a rule that denies every host and explains what happens without it', () => {
    expect(problems('network_rule(host="x.test", decision="allow")\nnetwork_rule(host="*", decision="deny")')).toEqual([
      '2: host: "*": unsupported global wildcard in a deny rule. A deny beats every allow, so it would block everything, and hosts that no rule allows are refused without it. Remove the rule',
    ])
  })

  it('reads hosts as the proxy does: a port behind the host, globs, one port of every host', () => {
    const file = parse(`network_rule("a.test:80", decision="allow")
network_rule("api?.*.test", decision="deny")
network_rule("*", port=22, decision="deny")`)
    expect(file.problems).toEqual([])
    expect(file.rules.map((rule) => ruleWords(rule))).toEqual([
      'Allow a.test on port 80',
      'Deny every host named like api?.*.test on every port',
      'Deny every host on port 22',
    ])
  })

  it('goes on after a broken call and names every problem with its line', () => {
    const file = parse(`prefix_rule(pattern=["a"])
prefix_rule(pattern=["b"
prefix_rule(pattern=["c"], decision="forbidden")
garbage )(
network_rule(host="d.test", decision="deny")
`)
    expect(file.problems.map((p) => p.line)).toEqual([3, 4])
    expect(file.rules.map((r) => r.text)).toEqual([
      'prefix_rule(pattern=["a"])',
      'prefix_rule(pattern=["c"], decision="forbidden")',
      'network_rule(host="d.test", decision="deny")',
    ])
  })

  it('gives a rule an id that stays while its text does and differs for its double', () => {
    const one = parse('prefix_rule(pattern=["a"])\nprefix_rule(pattern=["a"])')
    const two = parse('# moved down\n\nprefix_rule(pattern=["a"])')
    expect(one.rules[0]!.id).toBe(two.rules[0]!.id)
    expect(one.rules[1]!.id).not.toBe(one.rules[0]!.id)
  })

  it('never throws and never loops, whatever the text', () => {
    const piece = fc.constantFrom(
      'prefix_rule(',
      'pattern=',
      '["a"',
      ']',
      ')',
      ',',
      '"',
      "'",
      '\\',
      '#',
      '\n',
      '"""',
      '1',
      'x',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.array(piece).map((p) => p.join('')),
        ),
        (text) => {
          parse(text)
        },
      ),
    )
  })
})

describe('rule texts', () => {
  it('read back as the rule they were made from, whatever the words', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', minLength: 1 }), { minLength: 1 }), (words) => {
        const text = commandRuleText(
          words.map((word) => [word]),
          'ask',
        )
        expect(text).not.toContain('\n')
        expect(parseSingleRule(text)).toMatchObject({ effect: 'ask', pattern: words.map((word) => [word]) })
      }),
    )
  })

  it('write hidden characters as escapes', () => {
    expect(quote('a\u202eb\u0000\n"\\\u{e0061}')).toBe('"a\\u202eb\\u0000\\n\\"\\\\\\U000e0061"')
  })

  it('P11 say in words that a rule without a port holds for every port', () => {
    const any = parseSingleRule(hostRuleText({ host: { kind: 'exact', host: '127.0.0.1' }, effect: 'allow' }))
    const one = parseSingleRule(
      hostRuleText({ host: { kind: 'exact', host: '127.0.0.1' }, port: 18080, effect: 'allow' }),
    )
    expect([ruleWords(any), ruleWords(one)]).toEqual(['Allow 127.0.0.1 on every port', 'Allow 127.0.0.1 on port 18080'])
    expect(ruleWords(parseSingleRule('prefix_rule(["git", ["a", "b c"]], "forbidden")'))).toBe(
      'Deny commands that start with git (a | "b c"), with anything after it',
    )
  })

  it('refuse more or less than one rule', () => {
    expect(() => parseSingleRule('')).toThrow('exactly one')
    expect(() => parseSingleRule('prefix_rule(["a"]) prefix_rule(["b"])')).toThrow('exactly one')
  })
})

it.each([
  ['git  status\t-s', ['git', 'status', '-s']],
  [`a "b c" 'd "e' f\\ g`, ['a', 'b c', 'd "e', 'f g']],
  [`"" ''`, ['', '']],
  [`"a\\"b\\c"`, ['a"b\\c']],
  [`a 'b`, undefined],
])('exampleWords splits %j', (text, words) => {
  expect(exampleWords(text)).toEqual(words)
})
