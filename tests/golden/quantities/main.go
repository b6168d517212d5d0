// Command quantities writes what Kubernetes itself makes of a list of quantities, one JSON object a line:
//
//	{"text":"1.5k","accepted":true,"value":"1500"}
//
// The value is exact: an integer, a reduced fraction such as 3/2, or mantissa and exponent (7e2000000000) where the
// digits would not fit a line. Texts on which ParseQuantity does not return within two seconds carry "hangs":true; each
// text is parsed in a process of its own, which can be killed.
//
// Regenerate, in this directory: go run . >quantities.jsonl
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	patience    = 2 * time.Second
	maxExponent = 100
	alphabet    = "0123456789.+-eEinumkKMGTP "
)

type row struct {
	Text     string `json:"text"`
	Accepted bool   `json:"accepted"`
	Value    string `json:"value,omitempty"`
	Hangs    bool   `json:"hangs,omitempty"`
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "one" {
		text, err := io.ReadAll(os.Stdin)
		check(err)
		write(parse(string(text)))
		return
	}
	seen := map[string]bool{}
	for _, text := range inputs() {
		if !seen[text] {
			seen[text] = true
			write(parseApart(text))
		}
	}
}

func parse(text string) row {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return row{Text: text}
	}
	dec := quantity.AsDec()
	return row{Text: text, Accepted: true, Value: exact(dec.UnscaledBig(), -int64(dec.Scale()))}
}

func exact(mantissa *big.Int, exponent int64) string {
	if exponent > maxExponent || exponent < -maxExponent {
		return fmt.Sprintf("%de%d", mantissa, exponent)
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(exponent, -exponent)), nil)
	if exponent >= 0 {
		return power.Mul(power, mantissa).String()
	}
	return new(big.Rat).SetFrac(mantissa, power).RatString()
}

func parseApart(text string) row {
	self, err := os.Executable()
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, self, "one")
	command.Stdin = strings.NewReader(text)
	out, err := command.Output()
	if ctx.Err() != nil {
		return row{Text: text, Hangs: true}
	}
	check(err)
	var parsed row
	check(json.NewDecoder(bytes.NewReader(out)).Decode(&parsed))
	return parsed
}

func inputs() []string {
	texts := []string{
		// Grammar at its edges, and what other parsers of numbers accept.
		"", " ", "+", "-", ".", "+.", "-.", "..", "1..", "1.5.5", "+-1", "--1", "1-", "1+", "1+3", "0", "-0", "+0", "00",
		"007", "0.0", "-0.0", "0.", ".0", "5.", ".5", "+1", "-1", "1_000", "1,000", "1 Gi", " 1", "1 ", "1\n", "\t1", "1\x00",
		"0x10", "0b1", "0o7", "Infinity", "inf", "NaN", "nan", "1ki", "1K", "1g", "1i", "1ni", "1mi", "1Kib", "1KB", "1Mii",
		"1kk", "1MM", "1Eii", "1eE3", "1Ee3", "1e3k", "1e3Ki", "1Kie3", "1Ke3", "1e3.5", "1e.5", "1e", "1E", "1e+", "1E-",
		"1e--3", "1e+-3", "1e 3", "e5", "E5", "E", "Ei", "Ki", "k", "+m", "-Ki", ".Ki", ".e3", "+E+5",
		// Digits, signs and letters of other scripts.
		"１", "１２", "١", "۵Gi", "१", "²", "½", "1²", "1e²", "１e3", "1Кi", "1М", "−1", "＋1", "1．5", "1\u00a0Gi",
		// Large and small values.
		"9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"4611686018427387904", "4611686018427387905", "18446744073709551616", "999999999999999999", "1000000000000000000",
		"9007199254740993", "7Ei", "8Ei", "7.5Ei", "8191Pi", "8192Pi", "-8Ei", "-9Ei", "16Ei", "9E", "10E", "9223372036854775807k",
		"9223372036854775807m", "9223372036854775807Ki", "9007199254740991Ki", "9007199254740992Ki", "0.1Ei", "0.3Ki",
		"1.00000000000000000001Ki", "0.9999999999", "0.99999999999999999999", "1.0000000001", "-0.9999999999", "0.1n", "0.5n",
		"1n", "999999999n", "1000000000n", "1000000001n", "0.001u", "0.0001u", "1e-9", "1e-10", "-1e-10", "15e-10", "1e-32",
		"0e-10", "0e-32", "0.0e-20", "1000m", "999m", "1001m", "-1000m", "2000000u", "1500m", "0.5Mi", "0.0009765625Ki",
		"0.001953125Ki", "00000000000000000000000000000000000000000000000000000000000001",
		"000000000000000000000000000000000000000000000000000000000000001Ki",
		strings.Repeat("9", 63), strings.Repeat("9", 64), strings.Repeat("9", 65), strings.Repeat("0", 64),
		strings.Repeat("0", 65), "0." + strings.Repeat("3", 62), "0." + strings.Repeat("3", 63), "1." + strings.Repeat("0", 62),
		"1." + strings.Repeat("0", 63), "1e" + strings.Repeat("0", 61) + "5", "1e" + strings.Repeat("0", 62) + "5",
		"1" + strings.Repeat("0", 63), strings.Repeat("k", 65),
		// Exponents, up to those that hang.
		"1e0", "1e-0", "1e+0", "1e1", "1e+1", "1e-1", "1e3", "1E3", "1e03", "1E-003", "1e18", "1e19", "1e30", "1e31", "1e32",
		"1e+32", "1E32", "1e33", "1e+33", "1e-31", "1e-33", "1e99", "1e-99", "10e32", "0e32", "0e33", "0e99", "0e-33",
		"100000000e-8", "1.5e1", "1.25e2", ".00000001e8", "1.23456789e8", "123456789e-4", "1e100", "1e1000", "1e2147483647",
		"1e-2147483648", "1e2147483648", "1e-2147483649", "1e4294967296", "1e4294967299", "1e9223372036854775807",
		"1e9223372036854775808", "1e99999999999999999999", "2E6024865272343", "1e-999999999", "1e-99999", ".07893E985.90504",
	}
	texts = append(texts, combinations()...)
	return append(texts, random(rand.New(rand.NewPCG(1, 2)))...)
}

var (
	signs    = []string{"", "+", "-"}
	numbers  = []string{"0", "1", "12", "1.", ".5", "0.25", "3.0000", "1234.5678"}
	suffixes = strings.Split(",n,u,m,k,M,G,T,P,E,Ki,Mi,Gi,Ti,Pi,Ei,e2,E2,e+2,E-2,e-9,ki,K,g,t,p", ",")
)

func combinations() (texts []string) {
	for _, suffix := range suffixes {
		for _, number := range numbers {
			for _, sign := range signs {
				texts = append(texts, sign+number+suffix)
			}
		}
	}
	return texts
}

// random returns plain noise, and quantities with one character replaced, added or taken away.
func random(source *rand.Rand) (texts []string) {
	letter := func() string { return string(alphabet[source.IntN(len(alphabet))]) }
	pick := func(from []string) string { return from[source.IntN(len(from))] }
	for range 150 {
		noise := ""
		for range 1 + source.IntN(7) {
			noise += letter()
		}
		texts = append(texts, noise)
	}
	for range 250 {
		text := pick(signs) + pick(numbers) + pick(suffixes)
		at := source.IntN(len(text))
		switch source.IntN(3) {
		case 0:
			text = text[:at] + letter() + text[at+1:]
		case 1:
			text = text[:at] + letter() + text[at:]
		default:
			text = text[:at] + text[at+1:]
		}
		texts = append(texts, text)
	}
	return texts
}

func write(one row) {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(one))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
